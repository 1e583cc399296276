import { randomUUID } from 'node:crypto'
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Takes a lock that ends with its process: a file that contains the pid.
 *
 * @param {string} file
 * @returns {{ ok: true, release: () => void } | { ok: false, pid: number }} `pid` is the running
 * holder's
 */
export function tryLock(file) {
  mkdirSync(dirname(file), { recursive: true })
  const mine = `${process.pid} ${randomUUID()}\n`
  // Linked into place with its content, so that no process ever reads a lock without a pid.
  const draft = `${file}.${process.pid}.${randomUUID()}`
  writeFileSync(draft, mine, { mode: 0o600 })
  try {
    for (;;) {
      if (linkInto(draft, file)) return { ok: true, release: () => releaseLock(file, mine) }
      const held = readLock(file)
      if (held === null) continue
      if (isAlive(held.pid)) return { ok: false, pid: held.pid }
      removeStale(file, held.text)
    }
  } finally {
    rmSync(draft, { force: true })
  }
}

/**
 * The running process that holds `file`, or null.
 *
 * @param {string} file
 * @returns {number | null}
 */
export function lockHolder(file) {
  const held = readLock(file)
  return held !== null && isAlive(held.pid) ? held.pid : null
}

/**
 * The process that ended without giving `file` back, such as a killed one, or null.
 *
 * @param {string} file
 * @returns {number | null}
 */
export function lockLeftBy(file) {
  const held = readLock(file)
  return held !== null && held.pid > 0 && !isAlive(held.pid) ? held.pid : null
}

/**
 * Runs `work` while holding `file`; first waits for another holder.
 *
 * @template T
 * @param {string} file
 * @param {() => Promise<T>} work
 * @param {{ onWait?: (pid: number) => void, timeoutMs?: number, pollMs?: number }} [options]
 * @returns {Promise<T>}
 */
export async function withLock(file, work, options = {}) {
  const { onWait, timeoutMs = 600_000, pollMs = 200 } = options
  const deadline = Date.now() + timeoutMs
  let told = false
  for (;;) {
    const lock = tryLock(file)
    if (lock.ok) {
      try {
        return await work()
      } finally {
        lock.release()
      }
    }
    if (!told) onWait?.(lock.pid)
    told = true
    if (Date.now() > deadline)
      throw new Error(
        `process ${lock.pid} still holds \`${file}\`; ` +
          'end it, or remove the file if it is another program',
      )
    await sleep(pollMs)
  }
}

/**
 * @param {string} draft
 * @param {string} file
 */
function linkInto(draft, file) {
  try {
    linkSync(draft, file)
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw error
  }
}

/**
 * @param {string} file
 * @returns {{ pid: number, text: string } | null}
 */
function readLock(file) {
  try {
    const text = readFileSync(file, 'utf8')
    return { pid: Number.parseInt(text, 10), text }
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null
    throw error
  }
}

/**
 * Removes the lock of an ended process. Renames it first: two processes may find the same stale
 * lock, and the slower one must not remove the lock that the faster one has taken since.
 *
 * @param {string} file
 * @param {string} expected
 */
function removeStale(file, expected) {
  const aside = `${file}.${randomUUID()}`
  try {
    renameSync(file, aside)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return
    throw error
  }
  if (readLock(aside)?.text !== expected) linkInto(aside, file)
  rmSync(aside, { force: true })
}

/**
 * @param {string} file
 * @param {string} mine
 */
function releaseLock(file, mine) {
  if (readLock(file)?.text === mine) rmSync(file, { force: true })
}

/** @param {number} pid */
function isAlive(pid) {
  if (!Number.isSafeInteger(pid) || pid <= 0) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return codeOf(error) === 'EPERM'
  }
}

/**
 * @param {unknown} error
 * @returns {string | undefined}
 */
function codeOf(error) {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined
}
