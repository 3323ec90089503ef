#!/usr/bin/env python3
"""Opens the debug page of a manager in headless Chromium and checks its content.

    debug_page_test.py DEBUG_PAGE_SERVER

Chromium is driven by its DevTools protocol over two pipes. Exit code 77 if there is no Chromium (`make test-slow` installs it).
"""

import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

SKIPPED = 77
PATIENCE = 60
HOSTILE_NAME = "<script>window.hostile=3</script><b>bold</b>"
HOSTILE_SOURCE = "<img src=x onerror=window.hostile=4>"
HOSTILE_ERROR = "<img src=x onerror=\"window.hostile=1\"><script>window.hostile=2</script>"


def find_chromium():
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if path := shutil.which(name):
            return path
    return None


class Chromium:
    """A headless browser with one page. Ended by its process group's id; it also ends by itself when its pipes do."""

    def __init__(self, path, folder):
        to_child, to_us = os.pipe(), os.pipe()
        # Out of the way of 3 and 4, where Chromium reads commands and writes answers.
        child_in, child_out = (fcntl.fcntl(fd, fcntl.F_DUPFD, 20) for fd in (to_child[0], to_us[1]))
        command = [path, "--headless", "--remote-debugging-pipe", f"--user-data-dir={folder}", "--no-first-run", "--disable-gpu",
                   "--disable-dev-shm-usage", "--disable-background-networking", "--disable-component-update", "--disable-sync",
                   "--disable-extensions", "--no-default-browser-check", "--mute-audio", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]
        if os.geteuid() == 0:
            command.append("--no-sandbox")  # its sandbox does not work for root

        def wire():
            os.dup2(child_in, 3)
            os.dup2(child_out, 4)

        self.log = open(os.path.join(folder, "chromium.log"), "wb")
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, preexec_fn=wire, pass_fds=(3, 4),
                                        start_new_session=True, env=os.environ | {"HOME": folder})
        for fd in (to_child[0], to_us[1], child_in, child_out):
            os.close(fd)
        self.out, self.inp = to_child[1], to_us[0]
        self.buffer = b""
        self.number = 0
        self.session = None
        self.console = []  # what the page logged: errors of scripts, refusals of the policy

    def receive(self, until):
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.inp], [], [], max(0, until - time.monotonic()))
            data = os.read(self.inp, 1 << 16) if ready else b""
            if not data:
                with open(self.log.name, encoding="utf-8", errors="replace") as log:
                    raise AssertionError(f"Chromium {'ended' if ready else 'does not answer'}:\n{log.read()[-2000:]}")
            self.buffer += data
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + PATIENCE
        while True:
            answer = self.receive(until)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise AssertionError(f"{method}: {answer['error']}")
                return answer["result"]
            if answer.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled"):
                self.console.append(json.dumps(answer["params"]))

    def open(self, address, width=1200, height=800):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.go(address)

    def go(self, address):
        if problem := self.call("Page.navigate", url=address).get("errorText"):
            raise AssertionError(f"{address}: {problem}")
        self.wait("document.readyState === 'complete' && location.href !== 'about:blank'")

    def ask(self, expression):
        """The value of a JavaScript expression in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise AssertionError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def wait(self, expression):
        """Until the expression is true."""
        until = time.monotonic() + PATIENCE
        while not (value := self.ask(expression)):
            if time.monotonic() > until:
                raise AssertionError(f"{expression} is not true after {PATIENCE} s; the page is:\n{self.ask('document.body.innerText')}")
            time.sleep(0.05)
        return value

    def key(self, text, code=None):
        extra = {"key": code or text} | ({} if code else {"text": text})
        if code == "Enter":
            extra |= {"text": "\r", "windowsVirtualKeyCode": 13}
        if code == "Tab":
            extra |= {"windowsVirtualKeyCode": 9}
        self.call("Input.dispatchKeyEvent", type="keyDown", **extra)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=code or text)

    def type(self, text):
        for letter in text:
            self.key(letter)

    def end(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        for fd in (self.out, self.inp):
            os.close(fd)
        self.log.close()


class Server:
    """debug_page_server and its commands."""

    def __init__(self, path):
        self.process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def tell(self, line, answer="ok"):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE)
        got = self.process.stdout.readline().strip() if ready else "nothing"
        assert got.startswith(answer), f"{line}: debug_page_server answered \"{got}\""
        return got[len(answer):].strip()

    def end(self):
        self.process.stdin.close()
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise
        finally:
            self.process.stdout.close()


# The text of the cell in column `label` of the row of `key`; null if there is no such row.
CELL = """((key, label) => {
  const row = Array.from(document.querySelectorAll('#objects tbody tr')).find((r) => r.cells[0].textContent === key);
  return row ? Array.from(row.cells).find((c) => c.dataset.label === label).textContent : null;
})(%s, %s)"""
KEYS = "Array.from(document.querySelectorAll('#objects tbody tr')).map((r) => r.cells[0].textContent)"


def cell(key, label):
    return CELL % (json.dumps(key), json.dumps(label))


class DebugPageTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="kubexx-debug-page-", ignore_cleanup_errors=True)
        self.addCleanup(self.folder.cleanup)
        self.server = Server(SERVER)
        self.addCleanup(self.server.end)
        self.port = self.server.tell("start 0", "port")
        self.browser = Chromium(CHROMIUM, self.folder.name)
        self.addCleanup(self.browser.end)

    def open(self, tail="", **size):
        self.browser.open(f"http://127.0.0.1:{self.port}/debug/{tail}", **size)
        self.browser.wait("document.getElementById('live').textContent === 'Live'")

    def test_shows_keys_with_their_causes_and_refreshes_by_itself(self):
        self.server.tell("queue first a timer")
        self.open()
        page = self.browser
        page.ask("window.same = true")  # gone if the page is reloaded
        self.assertEqual(page.ask(cell("default/first", "State")), "queued")
        self.assertEqual(page.ask(cell("default/first", "Causes")), "a timer default/first external")
        self.assertEqual(page.ask(cell("default/first", "Next run")), "now")
        self.assertEqual(page.ask(cell("default/first", "Controller")), "idle <b>")
        self.assertIsNone(page.ask(cell("default/second", "State")))
        # A key that comes later, by a change in the cluster.
        self.server.tell("create block-me")
        page.wait(cell("default/block-me", "State") + " === 'processing'")
        self.assertIn("configmaps default/block-me added", page.ask(cell("default/block-me", "Causes")))
        self.server.tell("let-go")
        page.wait(cell("default/block-me", "Last result") + " === 'success'")
        self.server.tell("create bad-one")
        page.wait(f"Number({cell('default/bad-one', 'Failures')}) > 1")
        page.wait(cell("default/bad-one", "Causes") + " === 'retry'")
        self.assertTrue(page.ask("window.same"), "the page was loaded anew")
        # The other tables.
        text = page.ask("document.body.innerText")
        self.assertIn("This replica leads.", text)
        caches = page.ask("document.querySelector('#caches tbody').innerText")
        self.assertIn("watching, synced", caches)
        self.assertIn("nothings.example.com", caches)
        self.assertIn("could not find the requested resource", caches)
        self.assertEqual(page.console, [])

    def test_hostile_text_is_text(self):
        self.server.tell(f"queue {HOSTILE_NAME} {HOSTILE_SOURCE}")
        self.server.tell("create bad-html")
        self.open()
        page = self.browser
        page.wait(cell("default/bad-html", "Last result") + " !== ''")
        self.assertIn(HOSTILE_ERROR, page.ask(cell("default/bad-html", "Last result")))
        self.assertEqual(page.ask(cell("default/" + HOSTILE_NAME, "Causes")), f"{HOSTILE_SOURCE} default/{HOSTILE_NAME} external")
        self.assertEqual(page.ask("document.querySelectorAll('main img, main script, main b, select b').length"), 0)
        self.assertIsNone(page.ask("window.hostile"))
        self.assertEqual(page.ask("Array.from(document.getElementById('controller').options).map((o) => o.text)"), ["all", "maps", "idle <b>"])
        self.assertEqual(page.console, [])
        # Even if an attacker manages to insert markup, the policy does not let it run, nor load anything.
        page.ask("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.hostile=5\">')")
        page.ask("document.body.appendChild(document.createElement('script')).textContent = 'window.hostile = 6'")
        page.wait("new Promise((done) => setTimeout(() => done(true), 100))")
        self.assertIsNone(page.ask("window.hostile"))
        self.assertTrue(any("Content Security Policy" in line for line in page.console), page.console)

    def test_filters_and_sorts_by_keyboard(self):
        for name in ("alpha", "beta", "gamma"):
            self.server.tell(f"queue {name} timer")
        self.server.tell("create bad-one")
        self.open()
        page = self.browser
        page.wait(f"Number({cell('default/bad-one', 'Failures')}) > 2")
        # The most failures first.
        self.assertEqual(page.ask(KEYS + "[0]"), "default/bad-one")
        self.assertEqual(page.ask("document.querySelector('#objects th[aria-sort]').textContent"), "Failures")
        page.key("/")
        self.assertEqual(page.ask("document.activeElement.id"), "filter")
        page.type("ETA")
        page.wait(f"JSON.stringify({KEYS}) === '[\"default/beta\"]'")
        # It stays through refreshes and reloads.
        time_of = "report.time"
        seen = page.ask(time_of)
        page.wait(f"{time_of} > {seen} + 2.5")
        self.assertEqual(page.ask(KEYS), ["default/beta"])
        self.assertEqual(page.ask("document.activeElement.id"), "filter")
        page.call("Page.reload")
        page.wait(f"document.readyState === 'complete' && JSON.stringify({KEYS}) === '[\"default/beta\"]'")
        self.assertEqual(page.ask("document.getElementById('filter').value"), "ETA")
        page.ask("document.getElementById('filter').value = ''; changed()")
        page.wait(f"{KEYS}.length > 3")
        # The head of a column, reached and pressed with the keyboard.
        page.ask("document.getElementById('pause').focus()")
        page.key("", "Tab")
        self.assertEqual(page.ask("document.activeElement.textContent"), "Object")
        page.key("", "Enter")
        page.wait("document.querySelector('#objects th[aria-sort=ascending]').textContent === 'Object'")
        keys = page.ask(KEYS)
        self.assertEqual(keys, sorted(keys))
        # By age: what is queued the longest.
        page.ask("document.getElementById('sort').value = 'Age'; changed()")
        page.wait(f"{KEYS}.indexOf('default/alpha') < {KEYS}.indexOf('default/gamma')")
        self.assertEqual(page.console, [])

    def test_finds_keys_that_have_no_place_and_keeps_the_scroll_position(self):
        self.server.tell("fill 500")
        self.open()
        page = self.browser
        self.assertIn("more that have no place here", page.ask("document.getElementById('count').textContent"))
        self.assertIsNone(page.ask(cell("default/many-00499", "State")))
        page.ask("document.querySelector('#objects tbody tr:nth-child(20)').mark = 'same'")
        page.ask("window.scrollTo(0, 700)")
        seen = page.ask("report.time")
        self.server.tell("create bad-new")  # a row above
        page.wait(f"report.time > {seen} + 2.5 && {cell('default/bad-new', 'State')} !== null")
        self.assertGreater(page.ask("window.scrollY"), 650)
        # Rows stay the ones they were, and what is selected in them with that.
        self.assertEqual(page.ask("Array.from(document.querySelectorAll('#objects tbody tr')).filter((r) => r.mark).length"), 1)
        page.ask("document.getElementById('filter').focus()")
        page.type("many-00499")
        page.wait(cell("default/many-00499", "State") + " === 'queued'")
        self.assertEqual(page.ask(KEYS), ["default/many-00499"])

    def test_says_when_the_program_does_not_answer(self):
        self.server.tell("queue first timer")
        self.open()
        page = self.browser
        self.server.tell("stop")
        page.wait("document.getElementById('live').textContent.startsWith('The program does not answer. What is shown is of ')")
        self.assertTrue(page.ask("document.body.classList.contains('silent')"))
        self.assertEqual(page.ask(cell("default/first", "State")), "queued")  # what was known stays
        page.key("/")  # and can still be filtered
        page.type("nothing like it")
        page.wait(f"{KEYS}.length === 0")
        page.ask("document.getElementById('filter').value = ''; changed()")
        page.wait(f"{KEYS}.length > 0")
        self.server.tell(f"start {self.port}", "port")
        self.server.tell("queue after-the-restart timer")
        page.wait("document.getElementById('live').textContent === 'Live' && " + cell("default/after-the-restart", "State") + " === 'queued'")
        self.assertFalse(page.ask("document.body.classList.contains('silent')"))

    def test_shows_webhooks(self):
        self.open()
        page = self.browser
        self.assertTrue(page.ask("document.getElementById('section-webhooks').hidden"), "there are none")
        self.server.tell("stop")
        self.server.tell(f"start {self.port} hooks", "port")
        page.wait("document.getElementById('live').textContent === 'Live' && Boolean(report.webhooks)")
        page.console.clear()  # the port was closed for a moment
        row = "(Array.from(document.querySelectorAll('#webhooks tbody tr')).find((r) => r.cells[0].textContent.startsWith(%s)) || {innerText: ''}).innerText"
        of = lambda what: row % json.dumps(what)
        page.wait(of("port ") + ".includes('ready')")
        page.wait(of("MutatingWebhookConfiguration hooks") + ".includes('has the CA')")
        self.assertFalse(page.ask("document.getElementById('section-webhooks').hidden"))
        self.assertIn("pods.example.com: /mutate--v1-pod", page.ask(of("port ")))
        self.assertIn("hooks-webhook.default.svc.cluster.local", page.ask(of("certificate")))
        self.assertIn("revision 1", page.ask(of("CA in default/hooks-webhook-ca")))
        self.assertEqual(page.ask("document.querySelectorAll('#webhooks td.bad').length"), 0)
        self.assertNotIn("PRIVATE KEY", page.ask("JSON.stringify(report)"))
        # What goes wrong is shown, as text.
        self.server.tell("refuse-secrets")
        page.wait(of("problem") + ".includes('read the Secret: ')")
        self.assertIn(HOSTILE_ERROR, page.ask(of("problem")))
        self.assertEqual(page.ask("document.querySelectorAll('#webhooks td.bad').length"), 1)
        self.assertEqual(page.ask("document.querySelectorAll('main img, main script').length"), 0)
        self.assertIsNone(page.ask("window.hostile"))
        self.server.tell("allow-secrets")
        page.wait(of("problem") + " === ''")
        self.assertEqual(page.console, [])

    def test_fits_a_phone_in_light_and_dark(self):
        self.server.tell("queue a-rather-long-name-" + "x" * 120 + " timer")
        self.open(width=360, height=640)
        page = self.browser
        self.assertLessEqual(page.ask("document.documentElement.scrollWidth"), 360)
        colors = set()
        for scheme in ("light", "dark"):
            page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
            colors.add(page.ask("getComputedStyle(document.body).backgroundColor"))
        self.assertEqual(len(colors), 2)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    SERVER = sys.argv.pop(1)
    CHROMIUM = find_chromium()
    if CHROMIUM is None:
        print("There is no Chromium here: `scripts/install-deps chromium` installs it.")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
