import type { StagedSession as ShownSession } from '@palisade/protocol'
import { existsSync, readdirSync } from 'node:fs'
import { mkdir, rm, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { unlessMissing, type ViewDisk } from '../view/disk.ts'
import { quotePath, ViewRefusal } from '../view/view-refusal.ts'
import type { StageView } from '../view/view-plan.ts'
import { clearJournal, removeMounts, removeSession } from './session-files.ts'
import { createStage } from './stage-view.ts'
import {
  layersOf,
  listSessionIds,
  readSession,
  refusedMarkOf,
  type StagedSession,
} from './staged-session.ts'

/**
 * Sessions with changes on this machine. Of those with refused changes alone the oldest gives way
 * to a new one: an agent that runs each command in a sandbox would otherwise be stopped by them.
 */
const MAX_SESSIONS = 32
const KEPT_MS = 14 * 24 * 3_600_000
const SPACE_CHECK_MS = 2_000
const LEAST_FREE_BYTES = 128 * 1024 ** 2

/** One strict sandbox, from its start to the end of its processes. */
export interface StagedRun {
  readonly stage: StageView
  /**
   * Call it when all processes have ended, or when the sandbox did not start. A session without
   * changes goes away.
   */
  end(): Promise<void>
  /** Calls `end` with a sentence when the disk fills up. Returns a function that ends it. */
  watchSpace(end: (problem: string) => void): () => void
}

/** The sessions of strict sandboxes on disk. */
export interface StagedStore {
  /**
   * `guarded` are paths that the review refuses beside the guarded names. Rejects with
   * `ViewRefusal` when too many wait that policy does not refuse.
   */
  begin(id: string, holderPid: number, guarded?: readonly string[]): Promise<StagedRun>
  /** The oldest first. Removes those that expired. */
  list(): Promise<readonly StagedSession[]>
  /** Null without such a session. */
  find(id: string): StagedSession | null
  directoryOf(id: string): string
  /** Resolves when the sandbox has ended; null when it does not run. */
  running(id: string): Promise<void> | null
  /** Runs a task that no other one for the session interrupts; null when one runs. */
  alone<T>(id: string, task: () => Promise<T>): Promise<T> | null
  describe(session: StagedSession): ShownSession
  /** Notes after a review whether policy refuses all that is left. */
  noteRest(id: string, isRefused: boolean): Promise<void>
  /** Removes the rests of a killed agent. Call it once, before the first `begin`. */
  recover(): Promise<void>
  /** Removes all sessions. Call it while no sandbox runs. */
  discardAll(): Promise<void>
}

export interface StagedStoreDeps {
  /** Holds a directory for each session. */
  readonly root: string
  readonly disk: ViewDisk
  /** 32 random hexadecimal digits. */
  readonly randomName: () => string
  /** Wall time, in milliseconds. */
  readonly now: () => number
  readonly onError: (error: unknown) => void
}

export function createStagedStore({
  disk,
  now,
  onError,
  randomName,
  root,
}: StagedStoreDeps): StagedStore {
  const running = new Map<string, Promise<void>>()
  const busy = new Set<string>()
  const directoryOf = (id: string): string => join(root, id)
  const isExpired = (session: StagedSession): boolean => session.started_ms + KEPT_MS < now()

  const alone: StagedStore['alone'] = (id, task) => {
    if (busy.has(id)) return null
    busy.add(id)
    return task().finally(() => busy.delete(id))
  }
  const list = async (): Promise<readonly StagedSession[]> => {
    const sessions: StagedSession[] = []
    for (const id of await listSessionIds(root)) {
      const session = readSession(directoryOf(id))
      const isUsed = running.has(id) || busy.has(id)
      if (!isUsed && (session?.id !== id || isExpired(session)))
        await alone(id, () => removeSession(directoryOf(id), session))?.catch(onError)
      else if (session !== null) sessions.push(session)
    }
    return sessions.toSorted((a, b) => a.started_ms - b.started_ms)
  }

  const dropRefused = async (kept: readonly StagedSession[]): Promise<void> => {
    const oldest = kept.find(
      (session) => !running.has(session.id) && existsSync(refusedMarkOf(directoryOf(session.id))),
    )
    const dropped = oldest && alone(oldest.id, () => removeSession(directoryOf(oldest.id), oldest))
    if (dropped === undefined || dropped === null)
      throw new ViewRefusal(
        `the changes of ${MAX_SESSIONS} strict sandboxes wait here; apply or discard some ` +
          '(`palisade staged ls`, `palisade staged discard --all`)',
      )
    await dropped
  }

  return {
    list,
    directoryOf,
    find(id) {
      const session = readSession(directoryOf(id))
      return session?.id === id ? session : null
    },
    running: (id) => running.get(id) ?? null,
    alone,
    describe: ({ id, started_ms: startedMs, workspaces }) => ({
      id,
      state: running.has(id) ? 'running' : 'kept',
      started_at: new Date(startedMs).toISOString(),
      expires_at: new Date(startedMs + KEPT_MS).toISOString(),
      workspaces: workspaces.map(({ path }) => path),
      directories: workspaces.map((_, at) => layersOf(directoryOf(id), at).upper),
    }),
    async begin(id, holderPid, guarded = []) {
      await mkdir(root, { recursive: true, mode: 0o700 })
      const kept = await list()
      if (kept.length >= MAX_SESSIONS) await dropRefused(kept)
      const directory = directoryOf(id)
      const { promise, resolve } = Promise.withResolvers<void>()
      running.set(id, promise)
      const temporary = `.palisade-${randomName()}`
      const session = { id, started_ms: now(), temporary, guarded: [...guarded] }
      return {
        stage: createStage({ directory, holderPid, disk, session }),
        async end() {
          try {
            await endSession(directory)
          } finally {
            running.delete(id)
            resolve()
          }
        },
        watchSpace: (end) => watchSpace(root, end),
      }
    },
    async noteRest(id, isRefused) {
      const mark = refusedMarkOf(directoryOf(id))
      await (isRefused ? writeFile(mark, '', { mode: 0o600 }) : rm(mark, { force: true }))
    },
    async discardAll() {
      for (const session of await list()) await removeSession(directoryOf(session.id), session)
    },
    async recover() {
      for (const session of await list()) {
        const directory = directoryOf(session.id)
        await clearJournal(directory, session).catch(onError)
        await endSession(directory).catch(onError)
      }
    },
  }
}

/** Keeps the changes alone; a session without a record, or without changes, goes away. */
async function endSession(directory: string): Promise<void> {
  const session = readSession(directory)
  if (session === null) return removeSession(directory, null)
  await removeMounts(directory, session)
  if (!session.workspaces.some((_, index) => hasChanges(layersOf(directory, index).upper)))
    await removeSession(directory, session)
}

function hasChanges(upper: string): boolean {
  return (unlessMissing(() => readdirSync(upper)) ?? []).length > 0
}

/** The disk of the changes is that of the agent, which could not go on without room. */
function watchSpace(root: string, end: (problem: string) => void): () => void {
  const check = async (): Promise<void> => {
    const { bavail, bsize } = await statfs(root)
    if (bavail * bsize < LEAST_FREE_BYTES)
      end(`the disk of ${quotePath(root)} is full with the changes of the command`)
  }
  const timer = setInterval(() => void check().catch(() => {}), SPACE_CHECK_MS).unref()
  return () => clearInterval(timer)
}
