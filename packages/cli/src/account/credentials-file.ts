import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { CliError, configurationError } from '../runtime/cli-error.ts'
import { notWritten } from '../runtime/file-argument.ts'
import type { Io } from '../runtime/io.ts'
import { describeSystemError, systemCode } from '../runtime/system-error.ts'
import { parseCredentials, type StoredCredentials } from './credentials.ts'

const MAX_BYTES = 64 * 1024

/** `$PALISADE_CONFIG_DIR/credentials.json`, by default below `~/.config/palisade`. */
export function credentialsPath(io: Pick<Io, 'env' | 'cwd' | 'home'>): string {
  const given = io.env['PALISADE_CONFIG_DIR'] || join(io.home, '.config', 'palisade')
  return join(resolve(io.cwd, given), 'credentials.json')
}

/** Reads the stored credentials, or null before the first login. Throws exit 78. */
export async function readCredentials(path: string): Promise<StoredCredentials | null> {
  const text = await readPrivateFile(path)
  if (text === null) return null
  const credentials = parseCredentials(text)
  if (credentials === null)
    throw configurationError(`${path}: is not a credentials file; run \`palisade login\` again`)
  return credentials
}

/** Replaces the file atomically, with mode 0600 in a directory of mode 0700. */
export async function writeCredentials(
  path: string,
  credentials: StoredCredentials,
): Promise<void> {
  const temporary = `${path}.${randomBytes(6).toString('hex')}`
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    await writePrivateFile(temporary, `${JSON.stringify(credentials, null, 2)}\n`)
    await rename(temporary, path)
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined)
    throw notWritten(path, error)
  }
}

/** Removes the file; resolves to false if it did not exist. */
export async function deleteCredentials(path: string): Promise<boolean> {
  try {
    await rm(path)
    return true
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return false
    throw notWritten(path, error)
  }
}

/** Creates a file that must not exist yet, with mode 0600, and syncs it to disk. */
async function writePrivateFile(path: string, text: string): Promise<void> {
  await using handle = await open(path, 'wx', 0o600)
  await handle.writeFile(text)
  await handle.sync()
}

/**
 * Refuses a file that other users could have read or planted. Checks the open file, because the
 * path may name another file by then.
 */
async function readPrivateFile(path: string): Promise<string | null> {
  try {
    // Non-blocking: a named pipe at this path would hang every command.
    await using handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
    const status = await handle.stat()
    if (!status.isFile()) throw configurationError(`${path}: is not a regular file`)
    if ((status.mode & 0o077) !== 0)
      throw configurationError(`${path}: others can read the token; run \`chmod 600 ${path}\``)
    if (status.size > MAX_BYTES)
      throw configurationError(`${path}: is not a credentials file; run \`palisade login\` again`)
    return await handle.readFile('utf8')
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return null
    if (error instanceof CliError) throw error
    throw configurationError(`${path}: ${describeSystemError(error)}`, error)
  }
}
