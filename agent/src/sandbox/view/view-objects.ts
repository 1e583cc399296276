import { chmod, mkdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { preparePrivateDirectory } from '../../host/config/private-directory.ts'
import {
  clientScript,
  pathsOfClient,
  type ClientProgram,
  type ShownClient,
} from './client-program.ts'
import { systemFiles, type SandboxUser } from './system-files.ts'

/** The agent's own objects that every view shows. They are the same for all of its sandboxes. */
export interface ViewObjects {
  readonly emptyFile: string
  readonly emptyDirectory: string
  /** The directory with the agent's versions of files in `/etc`. */
  readonly systemFiles: string
  /** Null where the command line is not installed beside the agent. */
  readonly client: ShownClient | null
}

/** Everything that the objects depend on. */
export interface ViewIdentity {
  readonly user: SandboxUser
  readonly hostname: string
  readonly client: ClientProgram | null
}

/**
 * Creates the objects in a private directory, or brings them up to date. A file that exists with
 * other content is replaced by a new one, because running sandboxes show the former. Throws
 * `AgentError` with `ERR_DATA_DIRECTORY`, and Node's errors.
 */
export async function prepareViewObjects(
  directory: string,
  { user, hostname, client }: ViewIdentity,
): Promise<ViewObjects> {
  await preparePrivateDirectory(directory)
  const objects: ViewObjects = {
    emptyFile: join(directory, 'empty-file'),
    emptyDirectory: join(directory, 'empty-directory'),
    systemFiles: join(directory, 'etc'),
    client:
      client === null
        ? null
        : { script: join(directory, 'palisade'), paths: pathsOfClient(client) },
  }
  await mkdir(objects.systemFiles, { recursive: true, mode: 0o755 })
  await mkdir(objects.emptyDirectory, { recursive: true, mode: 0o555 })
  await chmod(objects.emptyDirectory, 0o555)
  await replaceFile(objects.emptyFile, '', 0o444)
  for (const [name, content] of Object.entries(systemFiles(user, hostname)))
    await replaceFile(join(objects.systemFiles, name), content, 0o444)
  if (client !== null && objects.client !== null)
    await replaceFile(objects.client.script, clientScript(client), 0o555)
  return objects
}

async function replaceFile(path: string, content: string, mode: number): Promise<void> {
  const draft = `${path}.new`
  await writeFile(draft, content, { mode: 0o600 })
  await chmod(draft, mode)
  await rename(draft, path)
}
