// Preloaded into the server and the agent of `npm start`. The launcher holds the other end of
// standard input, so the kernel closes it however the launcher ends, also by SIGKILL.
import { Socket } from 'node:net'
import { isMainThread } from 'node:worker_threads'

/** For open connections. A killed service loses no acknowledged write. */
const GRACE_MS = 1_000

if (isMainThread) {
  // The children of a service have another standard input.
  const own = process.execArgv.indexOf(`--import=${import.meta.url}`)
  if (own >= 0) process.execArgv.splice(own, 1)
  const launcher = new Socket({ fd: 0 })
  launcher.once('close', () => {
    // Both while the service stops already, and while it cannot.
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), GRACE_MS).unref()
    process.kill(process.pid, 'SIGTERM')
  })
  launcher.on('error', () => {})
  launcher.resume().unref()
}
