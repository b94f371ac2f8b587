"""The lab's nvidia-smi: a shell script that answers the csv queries for eight GPUs, RTX PRO 6000 Blackwell by default.

A file `gpu` in the node's folder makes others of them: lines such as `product="NVIDIA H200"`, `capability=9.0`,
`memory=143771`, `driver=580.95.05`.
"""

FAMILIES = {"blackwell": "", "hopper": 'product="NVIDIA H200" capability=9.0 memory=143771\n'}
"""What a node's file `gpu` holds, by the group of the inventory that its GPUs belong to."""

NVIDIA_SMI = r"""#!/bin/sh
# A stand-in of stackplan's lab for nvidia-smi: eight GPUs that do not exist.
product="NVIDIA RTX PRO 6000 Blackwell Server Edition" capability=12.0 memory=97887 driver=580.95.05
[ ! -r "$(dirname "$0")/../gpu" ] || . "$(dirname "$0")/../gpu"
uuid=GPU-00000000-0000-0000-0000-00000000000
fields= apps= header=1 units=1 only=
while [ $# -gt 0 ]; do
  case "$1" in
    --query-gpu=*) fields=${1#*=} ;;
    --query-compute-apps=*) apps=${1#*=} ;;
    --format=*)
      case ",${1#*=}," in *,csv,*) ;; *) echo "Option --format needs csv."; exit 2 ;; esac
      case ",${1#*=}," in *,noheader,*) header=0 ;; esac
      case ",${1#*=}," in *,nounits,*) units=0 ;; esac ;;
    -i|--id) only=$2; shift ;;
    -i=*|--id=*) only=${1#*=} ;;
    -L)
      for index in 0 1 2 3 4 5 6 7; do
        echo "GPU $index: $product (UUID: $uuid$index)"
      done
      exit 0 ;;
    *) echo "Invalid combination of input arguments. Please run 'nvidia-smi -h' for help."; exit 2 ;;
  esac
  shift
done
if [ -n "$apps" ]; then
  [ "$header" = 0 ] || echo "$apps" | sed 's/,/, /g'
  exit 0
fi
if [ -z "$fields" ]; then
  echo "| NVIDIA-SMI $driver              Driver Version: $driver      CUDA Version: 13.0     |"
  exit 0
fi
mib=" MiB"; [ "$units" = 1 ] || mib=
row() {
  line= separator=
  old_ifs=$IFS; IFS=,
  for field in $fields; do
    unit=
    case "$(echo "$field" | tr -d ' ')" in
      index) value=$1 ;;
      count) value=8 ;;
      name|gpu_name) value=$product ;;
      uuid|gpu_uuid) value=$uuid$1 ;;
      driver_version) value=$driver ;;
      compute_cap) value=$capability ;;
      memory.total) value=$memory$mib unit=" [MiB]" ;;
      memory.used) value=0$mib unit=" [MiB]" ;;
      memory.free) value=$memory$mib unit=" [MiB]" ;;
      utilization.gpu) value=0 unit=" [%]"; [ "$units" = 0 ] || value="0 %" ;;
      ecc.mode.current) value=Enabled ;;
      ecc.errors.*) value=0 ;;
      mig.mode.current) value=Disabled ;;
      persistence_mode) value=Enabled ;;
      compute_mode) value=Default ;;
      fabric.state) value=Completed ;;
      fabric.status) value=Success ;;
      pci.bus_id|gpu_bus_id) value="00000000:0$1:00.0" ;;
      *) echo "Field \"$field\" is not a valid field to query."; exit 2 ;;
    esac
    [ -z "$2" ] || { value=$field; [ "$units" = 1 ] && value=$field$unit; }
    line=$line$separator$value separator=", "
  done
  IFS=$old_ifs
  echo "$line"
}
[ "$header" = 0 ] || row 0 header || exit 2
for index in 0 1 2 3 4 5 6 7; do
  [ -z "$only" ] || [ "$only" = "$index" ] || continue
  row "$index" "" || exit 2
done
"""
