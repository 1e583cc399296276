import { closeSync, openSync, writeSync } from 'node:fs'

/** pino's number for `warn`. */
const WARN = 40

/**
 * Opens a file for the JSON lines of a service. Text that cannot be written, as on a full disk, is
 * dropped without an error. A line in the file reports the loss once it can be written again.
 *
 * @param {string} path
 * @returns {{ write: (text: string) => void, close: () => void }}
 */
export function openLogFile(path) {
  const file = openSync(path, 'a', 0o600)
  let lostBytes = 0
  /** @param {string} text */
  const tryToWrite = (text) => {
    const bytes = Buffer.from(text)
    let start = 0
    try {
      while (start < bytes.byteLength) start += writeSync(file, bytes, start)
    } catch {
      // The terminal belongs to the user; the file reports the loss below.
    }
    return bytes.byteLength - start
  }
  return {
    write(text) {
      // The line feed in front ends a line that may have been cut off.
      if (lostBytes > 0 && tryToWrite(`\n${describeLoss(lostBytes)}\n`) === 0) lostBytes = 0
      lostBytes += lostBytes > 0 ? Buffer.byteLength(text) : tryToWrite(text)
    },
    close: () => closeSync(file),
  }
}

/** @param {number} lostBytes */
function describeLoss(lostBytes) {
  const msg = 'parts of this log could not be written'
  return JSON.stringify({
    level: WARN,
    time: Date.now(),
    part: 'launcher',
    lost_bytes: lostBytes,
    msg,
  })
}
