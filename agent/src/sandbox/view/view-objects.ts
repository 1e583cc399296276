import { chmod, mkdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { preparePrivateDirectory } from '../../config/private-directory.ts'
import { systemFiles, type SandboxUser } from './system-files.ts'

/** The agent's own objects that every view shows. They are the same for all of its sandboxes. */
export interface ViewObjects {
  readonly emptyFile: string
  readonly emptyDirectory: string
  /** The directory with the agent's versions of files in `/etc`. */
  readonly systemFiles: string
}

/**
 * Creates the objects in a private directory, or brings them up to date. A file that exists with
 * other content is replaced by a new one, because running sandboxes show the former. Throws
 * `AgentError` with `ERR_DATA_DIRECTORY`, and Node's errors.
 */
export async function prepareViewObjects(
  directory: string,
  user: SandboxUser,
  hostname: string,
): Promise<ViewObjects> {
  await preparePrivateDirectory(directory)
  const objects: ViewObjects = {
    emptyFile: join(directory, 'empty-file'),
    emptyDirectory: join(directory, 'empty-directory'),
    systemFiles: join(directory, 'etc'),
  }
  await mkdir(objects.systemFiles, { recursive: true, mode: 0o755 })
  await mkdir(objects.emptyDirectory, { recursive: true, mode: 0o555 })
  await chmod(objects.emptyDirectory, 0o555)
  await replaceFile(objects.emptyFile, '', 0o444)
  for (const [name, content] of Object.entries(systemFiles(user, hostname)))
    await replaceFile(join(objects.systemFiles, name), content, 0o444)
  return objects
}

async function replaceFile(path: string, content: string, mode: number): Promise<void> {
  const draft = `${path}.new`
  await writeFile(draft, content, { mode: 0o600 })
  await chmod(draft, mode)
  await rename(draft, path)
}
