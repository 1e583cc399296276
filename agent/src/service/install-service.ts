import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { lockDirectory } from '../config/lock-directory.ts'
import { AgentError, systemErrorCode } from '../errors.ts'
import { isUnchanged } from './marked-text.ts'
import type { ServiceFile, ServicePlan } from './service-files.ts'

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
 * Removes the files of a service, but none that a person has changed. Idempotent. Rejects with
 * `ERR_SERVICE`.
 */
export async function removeFiles(files: readonly ServiceFile[]): Promise<ServiceChanges> {
  const found = await Promise.all(files.map(async (file) => ({ file, text: await read(file) })))
  const present = found.filter(({ text }) => text !== null)
  refuseChanged(present, 'remove it yourself')
  for (const { file } of present) await attempt(file.path, () => rm(file.path))
  return { written: [], removed: present.map(({ file }) => file.path), kept: [] }
}

/**
 * Removes the agent's own part of its data directory, with its key and its policies. Rejects with
 * `ERR_LOCKED` while an agent runs there.
 */
export async function purgeData({ dataDir }: Pick<ServicePlan, 'dataDir'>): Promise<string | null> {
  const directory = join(dataDir, 'agent')
  try {
    const lock = await lockDirectory(directory)
    lock.release()
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return null
    throw error
  }
  await attempt(directory, () => rm(directory, { recursive: true }))
  return directory
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
