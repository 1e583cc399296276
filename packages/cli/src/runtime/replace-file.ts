import { randomBytes } from 'node:crypto'
import { open, realpath, rename, rm, stat } from 'node:fs/promises'
import { notWritten, unreadable } from './file-argument.ts'

/**
 * Replaces the file at `path` atomically, follows a link to one, and keeps its mode. Throws exit
 * 78, or 2 for a pipe or a device, with the file named as `shown`.
 */
export async function replaceFile(path: string, shown: string, text: string): Promise<void> {
  let temporary: string | null = null
  const replaced = await stat(path).catch(() => null)
  if (replaced !== null && !replaced.isFile())
    throw unreadable(shown, 'is not a regular file; name another')
  try {
    // A link may lead to a file that has no name any more.
    const target = replaced === null ? path : await realpath(path)
    const mode = replaced === null ? 0o666 : replaced.mode & 0o777
    temporary = `${target}.${randomBytes(6).toString('hex')}`
    {
      await using handle = await open(temporary, 'wx', mode)
      await handle.writeFile(text)
      await handle.sync()
    }
    await rename(temporary, target)
  } catch (error) {
    if (temporary !== null) await rm(temporary, { force: true }).catch(() => undefined)
    throw notWritten(shown, error)
  }
}

/**
 * Writes a file that must not exist yet, not even as a link. Throws exit 78, with the file named as
 * `shown`.
 */
export async function createFile(path: string, shown: string, text: string): Promise<void> {
  let isOurs = false
  try {
    await using handle = await open(path, 'wx')
    isOurs = true
    await handle.writeFile(text)
    await handle.sync()
  } catch (error) {
    if (isOurs) await rm(path, { force: true }).catch(() => undefined)
    throw notWritten(shown, error)
  }
}
