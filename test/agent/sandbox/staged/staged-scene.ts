import { pathDenies } from '@palisade/policy-core'
import { mkdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createStagedChanges } from '../../../../agent/src/sandbox/staged/staged-changes.ts'
import {
  layersOf,
  writeSession,
  type StagedSession,
} from '../../../../agent/src/sandbox/staged/staged-session.ts'
import { createStagedStore } from '../../../../agent/src/sandbox/staged/staged-store.ts'
import { createViewDisk } from '../../../../agent/src/sandbox/view/disk.ts'
import { createDeniesReader } from '../../../../agent/src/sandbox/view/view-plan.ts'
import { activePolicy } from '../../fixture/active-policy.ts'
import { temporaryDirectory } from '../../fixture/temporary-directory.ts'
import { opened } from './opened-project.ts'

export const TEMPORARY = `.palisade-${'0'.repeat(32)}`

/** Sessions on disk whose changes are plain files, without a sandbox. */
export async function scene(isOpen = true) {
  const folder = createViewDisk()
    .realPath(await temporaryDirectory())
    .toString('utf8')
  const [root, project] = [join(folder, 'staged'), join(folder, 'project')]
  mkdirSync(root)
  mkdirSync(project)
  const { active, use } = activePolicy()
  if (isOpen) use(opened(project))
  const disk = createViewDisk()
  const clock = { nowMs: Date.now() }
  const onError = (error: unknown): void => {
    throw error
  }
  const randomName = (): string => '0'.repeat(32)
  const store = createStagedStore({ root, disk, randomName, now: () => clock.nowMs, onError })
  const deps = {
    active,
    deniesOf: createDeniesReader(pathDenies),
    disk,
    uid: process.getuid?.() ?? 0,
  }
  const changes = createStagedChanges({ ...deps, store, uptime: () => performance.now(), onError })
  /** Keeps these files as the changes of a sandbox that has just started. */
  const keep = async (id: string, files: readonly string[]): Promise<StagedSession> => {
    const { dev, ino } = statSync(project)
    const session: StagedSession = {
      version: 1,
      id,
      started_ms: clock.nowMs + 60_000,
      temporary: TEMPORARY,
      workspaces: [{ path: project, access: 'rw', device: dev, inode: ino, aliases: [] }],
    }
    const directory = join(root, id)
    mkdirSync(directory)
    await writeSession(directory, session)
    const { upper } = layersOf(directory, 0)
    mkdirSync(upper, { recursive: true })
    for (const name of files) writeFileSync(join(upper, name), 'x'.repeat(1_000_000))
    return session
  }
  const deny = (...patterns: readonly string[]): void =>
    use(opened(project, ...patterns.map((each) => ['deny', 'write', each] as const)))
  return { active, changes, clock, deny, deps, keep, project, root, store }
}
