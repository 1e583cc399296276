import type { DeviceKey, KeptEnrolment } from '@palisade/protocol'
import { constants } from 'node:fs'
import { link, lstat, open, rename, rm, unlink, type FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'
import { ensurePrivateDirectory } from '../../platform/private-directory.ts'
import { requireReplaceable } from '../../platform/replaceable-file.ts'

/** A file that is prepared beside its path and moved there whole, or not at all. */
export interface EnrolmentFile {
  publish(content: KeptEnrolment | DeviceKey): Promise<void>
  /** Removes the draft; must be called when `publish` did not succeed. */
  discard(): Promise<void>
}

/**
 * Prepares an enrolment or key file at the absolute `path` (mode 0600, its directory 0700 when
 * new). Throws the system's error, with `EEXIST` when the path exists already and `replace` is
 * false. Throws CommandFailure when the path to be replaced is no ordinary file.
 */
export async function prepareEnrolmentFile(
  path: string,
  options: { readonly replace: boolean; readonly suffix: string },
): Promise<EnrolmentFile> {
  ensurePrivateDirectory(dirname(path))
  if (!options.replace && (await isTaken(path)))
    throw Object.assign(new Error(`file \`${path}\` exists already`), { code: 'EEXIST' })
  requireReplaceable(path)
  const draft = `${path}.${options.suffix}`
  const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants
  const file = await open(draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
  return {
    async publish(content) {
      await writeThrough(file, `${JSON.stringify(content, null, 2)}\n`)
      if (options.replace) {
        requireReplaceable(path)
        return rename(draft, path)
      }
      // Unlike rename, link refuses to replace a file that has appeared meanwhile.
      await link(draft, path)
      await unlink(draft)
    },
    async discard() {
      await file.close()
      await rm(draft, { force: true })
    },
  }
}

async function writeThrough(file: FileHandle, text: string): Promise<void> {
  await file.writeFile(text)
  await file.sync()
  await file.close()
}

/** Also for a link that leads nowhere. */
async function isTaken(path: string): Promise<boolean> {
  try {
    await lstat(path)
    return true
  } catch {
    return false
  }
}
