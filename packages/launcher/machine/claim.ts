import { mkdirSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { LaunchError } from '../prepare/launch-error.mjs'
import { lockHolder, lockLeftBy, tryLock } from '../prepare/lock.mjs'

const LEFTOVER_MS = 3_000
const LEFTOVER_POLL_MS = 100

/** An address to listen on, and the setting that chooses its port. */
export interface WantedPort {
  readonly host: string
  readonly port: string
  readonly variable: string
}

/**
 * Makes sure, before anything is created, that this machine can be started here; then takes the
 * data directory for this process. Returns a function that gives the directory back.
 */
export async function claimMachine(
  dataDir: string,
  ports: readonly WantedPort[],
): Promise<() => void> {
  const file = join(dataDir, 'start.lock')
  const holder = readOrNull(() => lockHolder(file))
  if (holder !== null) throw alreadyRunning(dataDir, holder)
  const leftBy = readOrNull(() => lockLeftBy(file))
  if (leftBy === null) for (const port of ports) await assertFree(port)
  else await awaitLeftover(dataDir, leftBy, ports)
  const lock = takeLock(dataDir, file)
  if (!lock.ok) throw alreadyRunning(dataDir, lock.pid)
  return lock.release
}

/** Services end by themselves soon after a launcher that was killed. */
async function awaitLeftover(
  dataDir: string,
  leftBy: number,
  ports: readonly WantedPort[],
): Promise<void> {
  const deadline = performance.now() + LEFTOVER_MS
  for (const port of ports)
    for (;;) {
      const taken = await whyTaken(port)
      if (taken === null) break
      if (performance.now() > deadline)
        throw new LaunchError(
          `${taken}; the start before on \`${dataDir}\` (process ${leftBy}) was killed, and its ` +
            `server or agent may still run: end it, such as with \`fuser -k ${port.port}/tcp\``,
          78,
        )
      await pause(LEFTOVER_POLL_MS)
    }
}

async function whyTaken(port: WantedPort): Promise<string | null> {
  try {
    await assertFree(port)
    return null
  } catch (error) {
    if (!(error instanceof LaunchError)) throw error
    return error.message
  }
}

function readOrNull(read: () => number | null): number | null {
  try {
    return read()
  } catch {
    return null // the reason shows when the lock is taken
  }
}

function takeLock(dataDir: string, file: string) {
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 })
    return tryLock(file)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new LaunchError(
      `the data directory \`${dataDir}\` cannot be written (${why}); ` +
        'set PALISADE_DATA_DIR to another one',
      78,
    )
  }
}

function alreadyRunning(dataDir: string, pid: number): LaunchError {
  return new LaunchError(
    `Palisade already runs on \`${dataDir}\` (process ${pid}); ` +
      'stop it, or set PALISADE_DATA_DIR and PALISADE_PORT',
    78,
  )
}

/** A port that is not a number is left to its program, which lists all problems at once. */
function assertFree({ host, port, variable }: WantedPort): Promise<void> {
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
