import { setTimeout as pause } from 'node:timers/promises'
import type { ViewRef } from '../inspect-view.ts'

/** A machine that polls asks for the next timestamp within the hour. */
const LATELY_MS = 2 * 60 * 60 * 1000
const MAX_VIEWS = 20_000
/** A multiple of a sweep's duration, so that endless changes take at most a quarter of the time. */
const PAUSE = 3

/** Signs changes for machines before they ask. */
export interface ViewSweeper {
  /** Somebody has asked for this view and not found it known. */
  asked(viewRef: ViewRef): void
  /** Something was committed in these organizations. Returns at once. */
  changed(orgs: readonly string[]): void
  /** Begins no further sweep, and resolves when the current one has ended. */
  close(): Promise<void>
}

interface Asked {
  readonly viewRef: ViewRef
  readonly atMs: number
}

/** `sign` brings one view up to date; those that are asked in one turn are signed together. */
export function createViewSweeper(deps: {
  readonly sign: (viewRef: ViewRef) => Promise<unknown>
  readonly now: () => Date
}): ViewSweeper {
  const asked = new Map<string, Asked>()
  const waiting = new Set<string>()
  const closing = new AbortController()
  let running: Promise<void> | null = null

  function listAsked(orgs: ReadonlySet<string>): ViewRef[] {
    const sinceMs = deps.now().getTime() - LATELY_MS
    const viewRefs: ViewRef[] = []
    for (const [id, { viewRef, atMs }] of asked)
      if (atMs < sinceMs) asked.delete(id)
      else if (orgs.has(viewRef.org)) viewRefs.push(viewRef)
    return viewRefs
  }

  async function sweep(): Promise<void> {
    // The caller that made the change is answered first.
    for (let restMs = 0; waiting.size > 0;) {
      if (!(await rest(restMs))) return
      const orgs = new Set(waiting)
      waiting.clear()
      const startedMs = performance.now()
      // A failure to sign is reported to the next caller of that view.
      await Promise.allSettled(listAsked(orgs).map(deps.sign))
      restMs = PAUSE * (performance.now() - startedMs)
    }
    running = null
  }

  /** False once it is closed. */
  async function rest(ms: number): Promise<boolean> {
    try {
      await pause(ms, undefined, { ref: false, signal: closing.signal })
      return true
    } catch {
      return false
    }
  }

  return {
    asked(viewRef) {
      if (asked.size >= MAX_VIEWS) asked.clear()
      asked.set(viewRef.id, { viewRef, atMs: deps.now().getTime() })
    },
    changed(orgs) {
      if (asked.size === 0 || closing.signal.aborted) return
      for (const org of orgs) waiting.add(org)
      running ??= sweep()
    },
    async close() {
      closing.abort()
      await running
    },
  }
}
