import { spawn } from 'node:child_process'
import { openLogFile } from './log-file.mjs'

const END_WITH_LAUNCHER = new URL('end-with-launcher.mjs', import.meta.url).href
/** Longer than the services' own bound of 10 s for a graceful stop. */
const STOP_TIMEOUT_MS = 12_000
const KEPT_ERROR_CHARACTERS = 4_000

/**
 * A long-running child whose JSON log goes to a file.
 *
 * @typedef {object} Service
 * @property {string} name
 * @property {string} logFile
 * @property {Promise<number>} exited its exit code; 1 if a signal ended it
 * @property {() => boolean} running
 * @property {() => string} complaint end of its standard error, which has messages for people
 * @property {() => Promise<number>} stop asks it to end and waits; kills it after 12 s
 */

/**
 * @param {{ name: string, node: string, args: readonly string[], cwd: string,
 *   env: NodeJS.ProcessEnv, logFile: string,
 *   onRecord?: (record: Record<string, unknown>) => void }} options `onRecord` is called with every
 *   log record
 * @returns {Service}
 */
export function startService({ name, node, args, cwd, env, logFile, onRecord }) {
  const log = openLogFile(logFile)
  // A process group of its own: Ctrl-C must reach it through the launcher, so that the agent ends
  // before the server.
  const child = spawn(node, [`--import=${END_WITH_LAUNCHER}`, ...args], {
    cwd,
    env,
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
  })
  child.stdin.on('error', () => {})
  let complaint = ''
  child.stderr.setEncoding('utf8').on('data', (text) => {
    complaint = (complaint + text).slice(-KEPT_ERROR_CHARACTERS)
    log.write(text)
  })
  const readRecords = recordReader((record) => onRecord?.(record))
  child.stdout.setEncoding('utf8').on('data', (text) => {
    log.write(text)
    readRecords(text)
  })
  /** @type {Promise<number>} */
  const exited = new Promise((resolve) => {
    child.on('error', (error) => {
      complaint += error.message
    })
    child.on('close', (code) => {
      log.close()
      resolve(code ?? 1)
    })
  })
  const running = () => child.exitCode === null && child.signalCode === null
  return {
    name,
    logFile,
    exited,
    running,
    complaint: () => complaint.trim(),
    async stop() {
      if (running()) child.kill('SIGTERM')
      const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS)
      const code = await exited
      clearTimeout(timer)
      return code
    },
  }
}

/**
 * @param {(record: Record<string, unknown>) => void} onRecord
 * @returns {(text: string) => void} takes the chunks of the stream
 */
function recordReader(onRecord) {
  let rest = ''
  return (text) => {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const record = parseRecord(line)
      if (record !== null) onRecord(record)
    }
  }
}

/**
 * @param {string} line
 * @returns {Record<string, unknown> | null} null for a line that is not a JSON object
 */
function parseRecord(line) {
  try {
    const value = JSON.parse(line)
    return typeof value === 'object' ? value : null
  } catch {
    return null
  }
}
