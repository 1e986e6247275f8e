//! The agent as a container of the lab's node, set up as the deployment says.
//!
//! The kubelet's part is played here: what stands in `deploy/base` is turned into what a kubelet asks
//! of the runtime, field by field, and a field that is not known here is refused. So what runs is the
//! DaemonSet, not a copy of its settings, container by container. Like a real pod it has a network of its own and finds the API
//! server as every pod does, by its service account; only the node around it is the lab's.

mod deployment;
mod log;
mod settings;

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;

pub use deployment::Deployment;
pub(crate) use deployment::event_policy;
pub(crate) use settings::API_PORT;
pub use settings::Settings;
use settings::VolumeKind;

use crate::node::{import, labels, wait_image};
use crate::pod::Container;
use crate::{Launch, Node, Pod, PodRef, PodSpec, cri_write, network, process, scenario, wait_for};

/// The port that the deployment's `LISTEN` names.
const AGENT_PORT: u16 = 9753;
/// How long a command of the agent may take, the start of its container included.
const COMMAND: Duration = Duration::from_secs(15);

/// The pod of the agent: its sandbox, its network and its way to the API server.
pub struct AgentPod<'a> {
    node: &'a Node,
    image: String,
    spec: PodSpec,
    pod: Pod,
    sandbox: cri_write::PodSandboxConfig,
}

/// A command that has ended.
#[derive(Clone, Debug)]
pub struct Ended {
    /// Its exit code.
    pub code: i32,
    /// What it wrote to standard output.
    pub stdout: String,
    /// What it wrote to standard error.
    pub stderr: String,
}

impl<'a> AgentPod<'a> {
    /// Imports the image in `archive` and makes the pod, without a container.
    pub fn new(node: &'a Node, deployment: &Deployment, archive: &Path) -> anyhow::Result<Self> {
        import(node.layout(), archive)?;
        wait_image(node.runtime(), deployment.image())?;
        scenario::provide_network(node)?;
        let mut spec = PodSpec::new("why-terminating-agent").own_network();
        spec.pod = PodRef { namespace: deployment.namespace().to_owned(), ..spec.pod };
        let dir = node.provide_for(&spec)?;
        let sandbox = deployment.reader()?.sandbox(node.sandbox_config(&spec));
        let id = node.runtime().run_sandbox(&sandbox)?;
        let pod = Pod { reference: spec.pod.clone(), sandbox: id, containers: Vec::new(), dir };
        node.announce(&spec, &pod)?;
        let made = Self { node, image: deployment.image().to_owned(), spec, pod, sandbox };
        made.serve_api()?;
        Ok(made)
    }

    /// Lets the fake API server be reached inside the pod's network, over TLS.
    fn serve_api(&self) -> anyhow::Result<()> {
        let layout = self.node.layout();
        let dir = layout.service_account();
        fs::create_dir_all(&dir).with_context(|| format!("create {}", dir.display()))?;
        let pid = self.node.runtime().sandbox_pid(&self.pod.sandbox)?;
        let backend = fs::read_to_string(layout.api_address()).context("read the fake API server's address")?;
        let launch = Launch::stand_in("api-tls").args(["stand-in", "api-tls", "--network-of", &pid.to_string()]);
        self.node.launch(launch.args(["--backend", &backend]).arg("--service-account").arg(&dir))?;
        wait_for("the fake API server is served inside the pod", Duration::from_secs(10), || {
            Ok(dir.join("ca.crt").exists().then_some(()))
        })
    }

    /// Starts the agent; `command` in place of the deployment's arguments.
    pub fn start(&self, settings: &Settings, command: Option<&[&str]>) -> anyhow::Result<Container> {
        let name = format!("agent-{}", self.node.runtime().containers()?.len());
        let mut labels = labels(&self.spec.pod);
        labels.insert("io.kubernetes.container.name".to_owned(), name.clone());
        let mount = |host: &Path, container: &str, readonly| cri_write::Mount {
            container_path: container.to_owned(),
            host_path: host.display().to_string(),
            readonly,
            propagation: 0,
        };
        let mut config = settings.container()?;
        config.metadata = Some(cri::ContainerMetadata { name: name.clone(), attempt: 0 });
        config.image = Some(cri_write::ImageSpec { image: self.image.clone() });
        config.labels = labels;
        config.log_path = format!("{name}.log");
        let mut mounts = vec![mount(&self.pod.dir.join("etc-hosts"), "/etc/hosts", false)];
        for volume in settings.volumes() {
            mounts.push(mount(&self.volume(&volume.kind)?, &volume.path, volume.readonly));
        }
        config.mounts = mounts;
        if let Some(command) = command {
            config.args = command.iter().map(|&word| word.to_owned()).collect();
        }
        let id = self.node.runtime().run_container(&self.pod.sandbox, config, &self.sandbox)?;
        // One that ends at once has no process any more.
        let pid = self.node.runtime().container_pid(&id).unwrap_or(0);
        Ok(Container { name, id, pid })
    }

    /// Where a volume is on the node.
    fn volume(&self, kind: &VolumeKind) -> anyhow::Result<PathBuf> {
        match kind {
            VolumeKind::ServiceAccount => Ok(self.node.layout().service_account()),
            VolumeKind::EmptyDir(name) => {
                let dir = self.pod.dir.join("volumes/kubernetes.io~empty-dir").join(name);
                fs::create_dir_all(&dir).with_context(|| format!("create {}", dir.display()))?;
                // Whatever the umask is, as a kubelet does.
                fs::set_permissions(&dir, fs::Permissions::from_mode(0o777))?;
                Ok(dir)
            }
        }
    }

    /// Runs one command of the agent in a container of its own.
    pub fn run(&self, settings: &Settings, command: &[&str]) -> anyhow::Result<Ended> {
        let container = self.start(settings, Some(command))?;
        let code = wait_for(&format!("the agent ends `{}`", command.join(" ")), COMMAND, || {
            self.node.runtime().exit_code(&container.id)
        })?;
        let log = Path::new(&self.sandbox.log_directory).join(format!("{}.log", container.name));
        let log = fs::read_to_string(&log).with_context(|| format!("read {}", log.display()))?;
        Ok(Ended { code, stdout: log::stream(&log, "stdout"), stderr: log::stream(&log, "stderr") })
    }

    /// Runs a program beside the agent in its container, as `kubectl exec` does.
    pub fn exec(&self, container: &Container, command: &[&str]) -> anyhow::Result<Ended> {
        let answer = self.node.runtime().exec(&container.id, command)?;
        let text = |bytes| String::from_utf8(bytes).context("it did not write text");
        Ok(Ended { code: answer.exit_code, stdout: text(answer.stdout)?, stderr: text(answer.stderr)? })
    }

    /// What the agent answers on its own port, asked for inside the pod's network as the kubelet's probes
    /// and a scraper do: the whole answer, head and body.
    pub fn ask(&self, container: &Container, path: &str) -> anyhow::Result<String> {
        let mut stream = network::within(container.pid, || Ok(TcpStream::connect(("127.0.0.1", AGENT_PORT))?))?;
        stream.set_read_timeout(Some(COMMAND))?;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: agent\r\nConnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).with_context(|| format!("ask the agent for {path}"))?;
        Ok(answer)
    }

    /// Ends the agent as the kubelet does, with a stop signal and then time.
    pub fn stop(&self, container: &Container, grace: Duration) -> anyhow::Result<()> {
        self.node.runtime().stop_container(&container.id, grace).context("stop the agent")?;
        process::wait_end(container.pid)
    }

    /// Its exit code, once it has ended.
    pub fn exit_code(&self, container: &Container) -> anyhow::Result<Option<i32>> {
        self.node.runtime().exit_code(&container.id)
    }

    /// What the agent in `container` has written so far.
    pub fn log(&self, container: &Container) -> String {
        let log = Path::new(&self.sandbox.log_directory).join(format!("{}.log", container.name));
        fs::read_to_string(log).unwrap_or_default()
    }
}
