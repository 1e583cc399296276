import { mkdir } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { findProfileFile } from '../../../../packages/cli/src/sandbox/profile/find-profile-file.ts'
import { temporaryDirectory } from '../../../agent/fixture/temporary-directory.ts'

export const NAME = '.palisade.yaml'
export const find = (directory: string) => findProfileFile(directory, userInfo().uid)

/** A directory above a repository, which has a directory of its own. */
export async function repository() {
  const above = await temporaryDirectory()
  const root = join(above, 'repository')
  const inner = join(root, 'packages/a')
  await mkdir(inner, { recursive: true })
  await mkdir(join(root, '.git'))
  return { above, root, inner }
}
