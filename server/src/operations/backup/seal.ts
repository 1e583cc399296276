import { createHash } from 'node:crypto'
import { appendFileSync, createReadStream, statSync } from 'node:fs'

const BEFORE = '\npalisade-backup sha256 '
const AFTER = '\n'
const DIGEST_LENGTH = 64
/** Bytes of the last line of a backup. */
const SEAL_BYTES = BEFORE.length + DIGEST_LENGTH + AFTER.length

/**
 * A backup is a database and, behind it, one line with the SHA-256 of all bytes before. SQLite
 * reads as many pages as its header counts, so the line is no part of the database.
 *
 * - `whole`: the bytes are those that were sealed.
 * - `damaged`: they are others.
 * - `absent`: there is no such line, as in a copy by other means.
 */
export type SealState = 'whole' | 'damaged' | 'absent'

/** Appends the line. Answers the SHA-256 of the file with it, as `sha256sum` prints it. */
export async function sealFile(path: string): Promise<string> {
  const hash = await hashUntil(path, statSync(path).size)
  const line = BEFORE + hash.copy().digest('hex') + AFTER
  appendFileSync(path, line)
  return hash.update(line).digest('hex')
}

/** Reads all of the file, and leaves it as it is. */
export async function readSeal(path: string): Promise<{ seal: SealState; sha256: string }> {
  const sealed = Math.max(0, statSync(path).size - SEAL_BYTES)
  const hash = await hashUntil(path, sealed)
  const digest = hash.copy().digest('hex')
  const line = await readFrom(path, sealed)
  const sha256 = hash.update(line).digest('hex')
  return { seal: checkLine(line.toString('latin1'), digest), sha256 }
}

function checkLine(line: string, digest: string): SealState {
  if (line === BEFORE + digest + AFTER) return 'whole'
  return line.startsWith(BEFORE) && line.endsWith(AFTER) ? 'damaged' : 'absent'
}

async function hashUntil(path: string, end: number) {
  const hash = createHash('sha256')
  if (end === 0) return hash
  for await (const chunk of createReadStream(path, { end: end - 1 })) hash.update(chunk as Buffer)
  return hash
}

async function readFrom(path: string, start: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of createReadStream(path, { start })) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}
