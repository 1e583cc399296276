import { socketDirectoryProblem } from '@palisade/client'
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { lockDirectory } from '../host/config/lock-directory.ts'
import { AgentError, systemErrorCode } from '../host/errors.ts'
import { isUnchanged } from './marked-text.ts'
import type { ServiceFile, ServicePlan } from './service-files.ts'

/** Files of which each agent has one at least, once it was enrolled or has started. */
const AGENT_FILES: ReadonlySet<string> = new Set(['enrolment.json', 'policy', 'records'])

/** The paths of files, by the change that was made to each. */
export interface ServiceChanges {
  readonly written: readonly string[]
  readonly removed: readonly string[]
  /** Files that were already as they should be. */
  readonly kept: readonly string[]
}

/**
 * Writes the files of a service. A file that a person has changed, or wrote, is never replaced:
 * then no file is written. Idempotent. Rejects with `ERR_SERVICE`.
 */
export async function installFiles(files: readonly ServiceFile[]): Promise<ServiceChanges> {
  const found = await Promise.all(files.map(async (file) => ({ file, text: await read(file) })))
  const others = found.filter(({ file, text }) => text !== null && text !== file.text)
  refuseChanged(
    others,
    'put your own settings into a drop-in (`systemctl edit palisade-agent`), or move it away',
  )
  const outdated = found.filter(({ file, text }) => text !== file.text)
  for (const { file } of outdated) await write(file)
  const kept = found.filter((each) => !outdated.includes(each))
  return {
    written: outdated.map(({ file }) => file.path),
    removed: [],
    kept: kept.map(({ file }) => file.path),
  }
}

/**
 * Removes the files of a service, except those that a person has changed. Idempotent. Rejects with
 * `ERR_SERVICE`.
 */
export async function removeFiles(files: readonly ServiceFile[]): Promise<ServiceChanges> {
  const found = await Promise.all(files.map(async (file) => ({ file, text: await read(file) })))
  const present = found.filter(({ text }) => text !== null)
  refuseChanged(present, 'remove it yourself')
  for (const { file } of present) await attempt(file.path, () => rm(file.path))
  return { written: [], removed: present.map(({ file }) => file.path), kept: [] }
}

/** The agent's own part of its data directory, locked against an agent. */
export interface ClaimedData {
  readonly path: string
  /** Removes it with its key and its policies. Rejects with `ERR_SERVICE`. */
  remove(): Promise<void>
  release(): void
}

/**
 * Claims the data of an agent for removal; null where there is none. Rejects with `ERR_LOCKED`
 * while an agent runs there. Rejects with `ERR_SERVICE` for a directory of another kind: a project
 * may have one of the same name.
 */
export async function claimData({
  dataDir,
}: Pick<ServicePlan, 'dataDir'>): Promise<ClaimedData | null> {
  const path = join(dataDir, 'agent')
  try {
    if (!(await isAgentData(path)))
      throw new AgentError('ERR_SERVICE', [
        `\`${path}\` is not the data of an agent; name its directory with \`--data-dir\``,
      ])
    const { release } = await lockDirectory(path)
    return { path, remove: () => attempt(path, () => rm(path, { recursive: true })), release }
  } catch (error) {
    if (error instanceof AgentError) throw error
    if (systemErrorCode(error) === 'ENOENT') return null
    throw refusal(path, error)
  }
}

/** Whether it is closed to others, as each agent makes its own, and empty or with its files. */
async function isAgentData(path: string): Promise<boolean> {
  if ((await socketDirectoryProblem(path)) !== null) return false
  const names = await readdir(path)
  return names.length === 0 || names.some((name) => AGENT_FILES.has(name))
}

function refuseChanged(
  found: readonly { readonly file: ServiceFile; readonly text: string | null }[],
  instead: string,
): void {
  const changed = found.filter(({ text }) => text !== null && !isUnchanged(text))
  if (changed.length === 0) return
  throw new AgentError(
    'ERR_SERVICE',
    changed.map(({ file }) => `\`${file.path}\` is not as it was installed; ${instead}`),
  )
}

async function read({ path }: ServiceFile): Promise<string | null> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return null
    throw refusal(path, error)
  }
}

/** Written beside its place and renamed, so that systemd never reads a part of it. */
function write({ path, text }: ServiceFile): Promise<void> {
  return attempt(path, async () => {
    await mkdir(dirname(path), { recursive: true })
    const draft = `${path}.palisade-new`
    await rm(draft, { force: true })
    await writeFile(draft, text, { mode: 0o644, flag: 'wx' })
    await rename(draft, path)
  })
}

async function attempt(path: string, change: () => Promise<void>): Promise<void> {
  try {
    await change()
  } catch (error) {
    throw refusal(path, error)
  }
}

function refusal(path: string, error: unknown): AgentError {
  const code = systemErrorCode(error)
  if (code === null) throw error
  return new AgentError('ERR_SERVICE', [`cannot change \`${path}\` (${code})`], error)
}
