import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { watchNpm } from './watch-parent.mjs'

const FORWARDED = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])

/**
 * Runs a program on this terminal and forwards signals to it; the end of the npm that started us
 * counts as a signal.
 *
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ cwd: string, env: NodeJS.ProcessEnv }} options
 * @returns {Promise<number>} its exit code; 128 + n when signal n ended it
 */
export function runChild(command, args, { cwd, env }) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, env, stdio: 'inherit' })
    /** @param {NodeJS.Signals} signal */
    const forward = (signal) => {
      // The terminal itself sends Ctrl-C to the child; a second one would mean "stop at once".
      if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal)
    }
    for (const signal of FORWARDED) process.on(signal, forward)
    const stopWatching = watchNpm(env, () => child.kill('SIGTERM'))
    const stopForwarding = () => {
      stopWatching()
      for (const signal of FORWARDED) process.off(signal, forward)
    }
    child.on('error', (error) => {
      stopForwarding()
      reject(error)
    })
    child.on('exit', (code, signal) => {
      stopForwarding()
      resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal]))
    })
  })
}
