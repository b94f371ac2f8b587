"""A STAND-IN for a Kubernetes API server: no Kubernetes is behind it.

It answers what kubectl needs to look at one node and its pods, to patch the node and to evict pods, in JSON as the real
one does, conflicts and disruption budgets included. It schedules nothing and starts nothing; daemon sets, controllers
and kubelets are only told of. What it does not know it answers with 404.
"""

import copy
import http.server
import json
import threading
import urllib.parse

GROUPS = {"policy": ("v1", "poddisruptionbudgets", "PodDisruptionBudget"), "apps": ("v1", "daemonsets", "DaemonSet")}


def resource(name, kind, *, namespaced, group=None):
    verbs = ["create", "delete", "get", "list", "patch", "update", "watch"]
    about = {"name": name, "singularName": "", "namespaced": namespaced, "kind": kind, "verbs": verbs}
    return about if group is None else {**about, "group": group, "version": "v1"}


CORE = [
    resource("nodes", "Node", namespaced=False),
    resource("pods", "Pod", namespaced=True),
    resource("pods/eviction", "Eviction", namespaced=True, group="policy"),
]


class StandIn(http.server.ThreadingHTTPServer):
    """`nodes`, `pods` and `budgets` are what the tests put in; `requests` are those that would change something."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.lock = threading.RLock()
        self.nodes, self.pods, self.budgets, self.requests = {}, {}, [], []
        self.forbidden = False
        # Called with a node's name before a patch of it is looked at: somebody else who is faster.
        self.before_patch = lambda name: None
        self.version = 100

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"

    def add_node(self, name, *, unschedulable=False, hostname=None):
        metadata = {"name": name, "uid": name, "labels": {"kubernetes.io/hostname": hostname or name}}
        status = {"conditions": [{"type": "Ready", "status": "True"}]}
        node = {"kind": "Node", "apiVersion": "v1", "metadata": metadata, "spec": {}, "status": status}
        if unschedulable:
            node["spec"]["unschedulable"] = True
        self.nodes[name] = node
        self.touch(name)

    def touch(self, name):
        """Give the node another version, as any change of it does."""
        self.version += 1
        self.nodes[name]["metadata"]["resourceVersion"] = str(self.version)

    def add_pod(self, name, node, *, owner="ReplicaSet", empty_dir=False, labels=None, lasting=False, phase="Running"):
        """Put a pod on a node; a `lasting` one does not end when it is evicted."""
        owners = [{"kind": owner, "name": "its", "uid": "1", "apiVersion": "apps/v1", "controller": True}]
        metadata = {"name": name, "namespace": "ml", "uid": name, "labels": labels or {}, "resourceVersion": "1"}
        pod = {
            "kind": "Pod",
            "apiVersion": "v1",
            "metadata": {**metadata, **({"ownerReferences": owners} if owner else {})},
            "spec": {"nodeName": node, "volumes": [{"name": "scratch", "emptyDir": {}}] if empty_dir else []},
            "status": {"phase": phase},
        }
        self.pods[name] = (pod, lasting)

    def add_budget(self, name, labels, *, allowed):
        status = {"disruptionsAllowed": allowed, "currentHealthy": 1, "desiredHealthy": 1}
        about = {"metadata": {"name": name, "namespace": "ml"}, "spec": {"selector": {"matchLabels": labels}}}
        self.budgets.append({"kind": "PodDisruptionBudget", "apiVersion": "policy/v1", **about, "status": status})

    def allows_eviction(self, pod):
        labels = pod["metadata"]["labels"]
        covering = [it for it in self.budgets if it["spec"]["selector"]["matchLabels"].items() <= labels.items()]
        return all(it["status"]["disruptionsAllowed"] for it in covering)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *about):
        pass

    def do_GET(self):
        path, _, query = self.path.partition("?")
        asked = urllib.parse.parse_qs(query)
        with self.server.lock:
            self._get(path.strip("/").split("/"), asked)

    def do_PATCH(self):
        body = self._body()
        with self.server.lock:
            self.server.requests.append(("PATCH", self.path.partition("?")[0], body))
            name = self.path.partition("?")[0].rpartition("/")[2]
            if self.server.forbidden:
                message = f'nodes "{name}" is forbidden: User "kubelet" cannot patch resource "nodes"'
                return self._refuse(403, "Forbidden", message)
            self.server.before_patch(name)
            node = self.server.nodes[name]
            if isinstance(body, list):
                body = as_merge(node, body)
            version = body.get("metadata", {}).pop("resourceVersion", None)
            if version not in (None, node["metadata"]["resourceVersion"]):
                message = f'Operation cannot be fulfilled on nodes "{name}": the object has been modified'
                return self._refuse(409, "Conflict", message)
            merge(node, body)
            self.server.touch(name)
            return self._answer(node)

    def do_POST(self):
        body = self._body()
        with self.server.lock:
            path = self.path.partition("?")[0]
            self.server.requests.append(("POST", path, body))
            name = path.split("/")[-2]
            pod, lasting = self.server.pods[name]
            if not self.server.allows_eviction(pod):
                message = "Cannot evict pod as it would violate the pod's disruption budget."
                return self._refuse(429, "TooManyRequests", message)
            if lasting:
                pod["metadata"]["deletionTimestamp"] = "2026-12-02T00:40:08Z"
            else:
                del self.server.pods[name]
            return self._answer({"kind": "Status", "apiVersion": "v1", "status": "Success"}, 201)

    def _get(self, parts, asked):
        if (found := discovered(parts)) is not None:
            self._answer(found)
            return
        match parts:
            case ["api", "v1", "nodes"]:
                self._answer_list("Node", [it for it in self.server.nodes.values() if selected(it, asked)])
            case ["api", "v1", "nodes", name] if name in self.server.nodes:
                self._answer(self.server.nodes[name])
            case ["api", "v1", "pods"]:
                self._answer_list("Pod", [it for it, _ in self.server.pods.values() if selected(it, asked)])
            case ["api", "v1", "namespaces", _, "pods", name] if name in self.server.pods:
                self._answer(self.server.pods[name][0])
            case ["apis", "policy", "v1", "poddisruptionbudgets"]:
                self._answer_list("PodDisruptionBudget", self.server.budgets, "policy/v1")
            case ["apis", "apps", "v1", "namespaces", _, "daemonsets", name]:
                self._answer({"kind": "DaemonSet", "apiVersion": "apps/v1", "metadata": {"name": name, "uid": "1"}})
            case _:
                self._refuse(404, "NotFound", f"the stand-in has no /{'/'.join(parts)}")

    def _body(self):
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

    def _answer_list(self, kind, items, version="v1"):
        about = {
            "kind": f"{kind}List",
            "apiVersion": version,
            "metadata": {"resourceVersion": str(self.server.version)},
        }
        self._answer({**about, "items": items})

    def _refuse(self, code, reason, message):
        about = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": code}
        self._answer({**about, "message": message}, code)

    def _answer(self, value, code=200):
        body = json.dumps(copy.deepcopy(value)).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def discovered(parts):
    """Return what tells kubectl which kinds there are, None for any other path."""
    match parts:
        case ["api"]:
            return {"kind": "APIVersions", "versions": ["v1"]}
        case ["apis"]:
            versions = {name: {"groupVersion": f"{name}/v1", "version": "v1"} for name in GROUPS}
            groups = [{"name": it, "versions": [about], "preferredVersion": about} for it, about in versions.items()]
            return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
        case ["api", "v1"]:
            return {"kind": "APIResourceList", "groupVersion": "v1", "resources": CORE}
        case ["apis", group, "v1"] if group in GROUPS:
            _, name, kind = GROUPS[group]
            resources = [resource(name, kind, namespaced=True)]
            return {"kind": "APIResourceList", "groupVersion": f"{group}/v1", "resources": resources}
    return None


def selected(item, asked):
    """Return whether an object is what fieldSelector and labelSelector ask for."""
    fields = {
        "metadata.name": item["metadata"]["name"],
        "spec.nodeName": item["spec"].get("nodeName"),
        **{f"label {key}": value for key, value in item["metadata"].get("labels", {}).items()},
    }
    wanted = [it.split("=") for it in asked.get("fieldSelector", [""])[0].split(",") if it]
    wanted += [[f"label {it.split('=')[0]}", it.split("=")[-1]] for it in asked.get("labelSelector", []) if it]
    return all(fields.get(it[0]) == it[-1] for it in wanted)


def as_merge(node, steps):
    """Return a JSON patch (RFC 6902) of tests and removals as a merge patch; with a version that none has where a test
    fails.
    """
    patch = {}
    for step in steps:
        *folders, last = [it.replace("~1", "/") for it in step["path"].strip("/").split("/")]
        at, into = node, patch
        for folder in folders:
            at, into = at.get(folder, {}), into.setdefault(folder, {})
        if step["op"] == "remove":
            into[last] = None
        elif at.get(last) != step["value"]:
            return {"metadata": {"resourceVersion": "none"}}
    return patch


def merge(into, patch):
    """Apply a JSON merge patch (RFC 7386)."""
    for key, value in patch.items():
        if value is None:
            into.pop(key, None)
        elif isinstance(value, dict):
            merge(into.setdefault(key, {}), value)
        else:
            into[key] = value
