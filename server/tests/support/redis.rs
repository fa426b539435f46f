//! A Redis of its own for a test.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::{own_port, within};

/// A running Redis; stopped when dropped.
pub struct Redis {
    child: Child,
    pub port: u16,
}

impl Redis {
    pub fn start() -> Self {
        let port = own_port();
        Self { child: launch(port), port }
    }

    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/0", self.port)
    }

    pub fn stop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Starts it again, empty, where it does not run.
    pub fn begin(&mut self) {
        if self.child.try_wait().is_ok_and(|ended| ended.is_some()) {
            self.child = launch(self.port);
        }
    }
}

fn launch(port: u16) -> Child {
    let child = Command::new("redis-server")
        .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"])
        .stdout(Stdio::null())
        .spawn()
        .expect("this test needs redis-server on the PATH (Debian: apt-get install redis-server)");
    within(Duration::from_secs(10), "Redis listens", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
    child
}

impl Drop for Redis {
    fn drop(&mut self) {
        self.stop();
    }
}
