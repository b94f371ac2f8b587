"""The lab's CUDA runfile: a shell script that takes the real installer's flags and installs a stand-in for nvcc.

The real file is a makeself archive of 4 GB; this one is a script of 2 KB with the same behaviour where a playbook can
see it: the toolkit alone with `--toolkit`, the target folder from `--toolkitpath`, the summary on success, a refusal of
flags that the real one does not know.
"""

import hashlib

NAME = "cuda_13.0.1_lab_linux.run"

TEXT = r"""#!/bin/sh
# A stand-in of stackplan's lab for NVIDIA's CUDA 13.0.1 runfile. It installs no compiler.
silent=0 toolkit=0 driver=0 target=
for argument in "$@"; do
  case "$argument" in
    --silent) silent=1 ;;
    --toolkit) toolkit=1 ;;
    --driver) driver=1 ;;
    --toolkitpath=*|--installpath=*|--defaultroot=*) target=${argument#*=} ;;
    --tmpdir=*|--override|--no-drm|--no-opengl-libs|--no-man-page|--override-driver-check) ;;
    *) echo "Unknown option: $argument" >&2; exit 1 ;;
  esac
done
if [ "$silent" = 0 ]; then
  echo "This installer asks questions without --silent." >&2
  exit 1
fi
if [ "$driver" = 1 ] || [ "$toolkit" = 0 ]; then
  echo "[ERROR]: the lab's runfile brings no driver; choose --toolkit." >&2
  exit 1
fi
target=${target:-/usr/local/cuda-13.0}
mkdir -p "$target/bin" "$target/lib64" || exit 15
cat >"$target/bin/nvcc.part" <<'NVCC' || exit 15
#!/bin/sh
# A stand-in of stackplan's lab for nvcc; it compiles nothing.
if [ "$1" != "--version" ] && [ "$1" != "-V" ]; then
  echo "nvcc fatal   : this stand-in only answers --version" >&2
  exit 1
fi
echo "nvcc: NVIDIA (R) Cuda compiler driver"
echo "Copyright (c) 2005-2025 NVIDIA Corporation"
echo "Built on Wed_Aug_20_01:58:59_PM_PDT_2025"
echo "Cuda compilation tools, release 13.0, V13.0.88"
echo "Build cuda_13.0.r13.0/compiler.36424714_0"
NVCC
chmod 755 "$target/bin/nvcc.part" && mv "$target/bin/nvcc.part" "$target/bin/nvcc" || exit 15
cat >"$target/version.json" <<'JSON' || exit 15
{
   "cuda" : {"name" : "CUDA SDK", "version" : "13.0.1"},
   "cuda_nvcc" : {"name" : "CUDA NVCC", "version" : "13.0.88"}
}
JSON
cat <<SUMMARY
===========
= Summary =
===========

Driver:   Not Selected
Toolkit:  Installed in $target/

Please make sure that
 -   PATH includes $target/bin
 -   LD_LIBRARY_PATH includes $target/lib64, or, add $target/lib64 to /etc/ld.so.conf and run ldconfig as root

To uninstall the CUDA Toolkit, run cuda-uninstaller in $target/bin
***WARNING: Incomplete installation! This installation did not install the CUDA Driver. A driver of version at least \
580.00 is required for CUDA 13.0 functionality to work.
SUMMARY
"""

CONTENT = TEXT.encode()
SHA256 = hashlib.sha256(CONTENT).hexdigest()
