import { mkdirSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { LaunchError } from '../prepare/launch-error.mjs'
import { lockHolder, tryLock } from '../prepare/lock.mjs'

/**
 * Makes sure, before anything is created, that this machine can be started here; then takes the
 * data directory for this process.
 *
 * @param {string} dataDir
 * @param {readonly { host: string, port: string, variable: string }[]} ports what shall be listened
 * on
 * @returns {Promise<() => void>} gives the directory back
 */
export async function claimMachine(dataDir, ports) {
  const file = join(dataDir, 'start.lock')
  const holder = holderOf(file)
  if (holder !== null) throw alreadyRunning(dataDir, holder)
  for (const port of ports) await assertFree(port)
  const lock = takeLock(dataDir, file)
  if (!lock.ok) throw alreadyRunning(dataDir, lock.pid)
  return lock.release
}

/** @param {string} file */
function holderOf(file) {
  try {
    return lockHolder(file)
  } catch {
    return null // the reason shows when the lock is taken
  }
}

/**
 * @param {string} dataDir
 * @param {string} file
 */
function takeLock(dataDir, file) {
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 })
    return tryLock(file)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new LaunchError(
      `the data directory \`${dataDir}\` cannot be written (${why}); set PALISADE_DATA_DIR to another one`,
      78,
    )
  }
}

/**
 * @param {string} dataDir
 * @param {number} pid
 */
function alreadyRunning(dataDir, pid) {
  return new LaunchError(
    `Palisade already runs on \`${dataDir}\` (process ${pid}); stop it, or set PALISADE_DATA_DIR and PALISADE_PORT`,
    78,
  )
}

/**
 * A port that is not a number is left to its program, which lists all problems at once.
 *
 * @param {{ host: string, port: string, variable: string }} wanted
 * @returns {Promise<void>}
 */
function assertFree({ host, port, variable }) {
  const number = /^\d{1,5}$/.test(port) ? Number(port) : 0
  if (number === 0 || number > 65_535) return Promise.resolve()
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.on('error', (error) => {
      const taken = 'code' in error && error.code === 'EADDRINUSE'
      if (taken)
        reject(
          new LaunchError(`port ${port} on ${host} is taken; set ${variable} to another one`, 78),
        )
      else resolve()
    })
    probe.listen(number, host, () => probe.close(() => resolve()))
  })
}
