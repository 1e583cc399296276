import { randomBytes } from 'node:crypto'
import { open, rename, unlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

const INFIX = '.tmp-'

/**
 * Durable and whole when it resolves; a crash in between leaves the former file, and maybe a
 * leftover.
 */
export async function writeDurably(file: string, content: string | Uint8Array): Promise<void> {
  const temporary = join(
    dirname(file),
    `${basename(file)}${INFIX}${randomBytes(8).toString('hex')}`,
  )
  try {
    const handle = await open(temporary, 'wx', 0o600)
    try {
      await handle.writeFile(content)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(temporary, file)
  } catch (error) {
    // Not to hide why the write failed.
    await unlink(temporary).catch(() => {})
    throw error
  }
  await syncDirectory(dirname(file))
}

/** Whether `name` is what a crash in the middle of a write has left. */
export function isLeftover(name: string): boolean {
  return name.includes(INFIX)
}

/**
 * The rename itself must reach the disk (fsync(2), "calling fsync() does not necessarily ensure…").
 */
export async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
