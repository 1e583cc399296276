import type { Enrolment } from '@palisade/protocol'
import type { TrustedClock } from '../../policy/state/trusted-clock.ts'
import { describeDiskFault, fault, type Fault } from '../fault.ts'
import { NO_GRANTS, withEnded, type GrantLedger } from '../trust/grant-ledger.ts'
import { verifyView, type VerifiedView } from '../trust/verify-view.ts'
import { followFrom, followRoots, hasOtherKeys } from '../trust/root-chain.ts'
import { isSignedBy, readTargets, type Root } from '../trust/signed-metadata.ts'
import type { StateProblem, StateStore } from './state-store.ts'
import type { TrustedState } from '../trust/trusted-state.ts'
import { NO_MARKS, withMark } from '../trust/view-marks.ts'

export interface StateKeeperDeps {
  readonly enrolment: Enrolment
  readonly store: StateStore
  readonly clock: TrustedClock
}

/** A verified view with its documents. */
export interface FetchedView {
  readonly view: VerifiedView
  /** In the order of `view.documents`. */
  readonly texts: readonly string[]
}

/** The trusted state of this machine, in memory and on disk. */
export interface StateKeeper {
  state(): TrustedState
  /** The newest root; null if the kept roots do not follow the pinned one. */
  root(): Root | null
  grants(): GrantLedger
  isRevoked(): boolean
  /** Reads the known time, which `restore` needs. */
  restoreTime(): Promise<void>
  /** Reads the kept view. Returns a problem if a file was damaged, which is renamed by then. */
  restore(): Promise<{ readonly kept: FetchedView | null; readonly problem: StateProblem | null }>
  /**
   * Keeps roots even if a later step fails: a rotation is how an organization recovers from a
   * theft.
   */
  keepRoots(roots: readonly string[]): Promise<Root | Fault>
  /**
   * Makes the view the trusted one, durably. Throws the system's error, which leaves the state
   * unchanged.
   */
  keepView(view: VerifiedView): Promise<void>
  /**
   * Resolves when both copies are durable. Throws the system's error, which leaves the state
   * unchanged. Not reentrant.
   */
  keepInBoth(changed: Partial<Pick<TrustedState, 'grants' | 'is_revoked'>>): Promise<void>
  /** Keeps the known time on disk, so that a restart does not set it back. */
  keepTime(): Promise<void>
  /** Discards a restored state that cannot be used; returns the new path of its file. */
  setAside(): Promise<string>
}

/**
 * Documents read in parallel, because each takes several turns of a thread. The limit is low,
 * because a machine may allow few open files, and a document that cannot be opened counts as
 * damaged.
 */
const READ_AT_ONCE = 16

export function createStateKeeper(deps: StateKeeperDeps): StateKeeper {
  const { enrolment, store, clock } = deps
  let { state, root } = emptyState(enrolment)
  /** Hashes of the documents of the view in `state`, if this process has kept it. */
  let kept: readonly string[] | null = null

  async function setAside(): Promise<string> {
    const file = await store.setAside(clock.now())
    ;({ state, root } = emptyState(enrolment, state))
    kept = null
    return file
  }

  /** Restores one copy. An unusable copy is renamed, so that another call tries the other one. */
  async function restoreCopy() {
    const read = await store.read(clock.now())
    if (read.state === null) return { kept: null, problem: read.problem, isUsable: true }
    state = read.state
    kept = null
    root = followRoots(enrolment.root, state.roots)
    if (isOfEnrolment(enrolment, state)) clock.noteKeptIssue(state.issued_ms)
    const restored = await restoreView(deps, state)
    if (typeof restored === 'string') {
      const problem = { file: await setAside(), message: restored }
      return { kept: null, problem, isUsable: false }
    }
    if (restored !== null && 'file' in restored)
      return { kept: null, problem: read.problem ?? restored, isUsable: true }
    return { kept: restored, problem: read.problem, isUsable: true }
  }

  return {
    setAside,
    state: () => state,
    root: () => root,
    grants: () => state.grants,
    isRevoked: () => state.is_revoked,

    async restoreTime() {
      clock.restore(await store.time.read())
    },

    async restore() {
      const first = await restoreCopy()
      if (first.isUsable) return first
      // The other copy still knows the versions, grants and revocation that must not be forgotten.
      const { kept: other, problem } = await restoreCopy()
      return { kept: other, problem: first.problem ?? problem }
    },

    async keepRoots(roots) {
      const next = root === null ? null : addRoots(root, state, roots)
      if (next === null)
        return fault('bad_signature', 'the roots of the server do not follow the pinned one')
      try {
        if (next.isReset) {
          clock.forgetIssues()
          // Written first: once the roots are on disk, the change of keys is no longer visible.
          if (state.view !== null) await store.time.write(clock.kept())
        }
        if (roots.length > 0) await store.write(next.state)
      } catch (error) {
        return describeDiskFault(error)
      }
      state = next.state
      root = next.root
      return root
    },

    async keepView(view) {
      const next = withView(state, view)
      await store.write(next)
      // Documents of the previous view stay too, so that a return to it fetches no document.
      const listed = view.documents.map(({ sha256 }) => sha256)
      const hashes = new Set([...(kept ?? listHashes(state)), ...listed])
      state = next
      kept = listed
      // Leftover documents only take space.
      await store.keepDocuments(hashes).catch(() => {})
    },

    async keepInBoth(changed) {
      await store.write({ ...state, ...changed })
      state = { ...state, ...changed }
    },

    async keepTime() {
      // Before the first view there is no bundle that an earlier time could revive.
      if (state.view !== null) await store.time.write(clock.kept())
    },
  }
}

/** The state before the first accepted view, or after a kept one was unusable. */
function emptyState(
  { org, device_id, root: pinned }: Enrolment,
  former?: TrustedState,
): { readonly state: TrustedState; readonly root: Root | null } {
  const isOurs = former !== undefined && isOfEnrolment({ org, device_id }, former)
  // An unusable state must not make a used grant valid again.
  const grants = isOurs ? withEnded(former.grants) : NO_GRANTS
  const is_revoked = isOurs && former.is_revoked
  const nothing = { roots: [], view: null, ...NO_MARKS, newest_assignment: null, issued_ms: 0 }
  const state = { org, device_id, ...nothing, grants, is_revoked }
  return { state, root: followRoots(pinned, []) }
}

function withView(
  state: TrustedState,
  { files, versions, issuedMs, isNewestAssignment: isNewest }: VerifiedView,
): TrustedState {
  return {
    ...state,
    view: files,
    ...withMark(state, { view: files.id, versions, issuedMs }),
    newest_assignment: isNewest ? files.assignment : state.newest_assignment,
    issued_ms: Math.max(state.issued_ms, issuedMs),
  }
}

function listHashes({ view }: TrustedState): string[] {
  const targets = view === null ? null : readTargets(view.targets)
  return Object.values(targets?.targets ?? {}).map(({ hashes }) => hashes.sha256)
}

/** Null if the roots do not follow the trusted ones. */
function addRoots(
  former: Root,
  state: TrustedState,
  added: readonly string[],
): { readonly state: TrustedState; readonly root: Root; readonly isReset: boolean } | null {
  const roots = [...state.roots, ...added]
  const root = followFrom(former, added)
  if (root === null) return null
  const isReset = hasOtherKeys(former, root)
  const reset = isReset ? { ...NO_MARKS, issued_ms: 0 } : {}
  return {
    state: { ...state, ...reset, roots, grants: endForeignGrant(state, root) },
    root,
    isReset,
  }
}

/**
 * A change of the targets keys ends a grant, because a thief of the former keys may have signed it.
 */
function endForeignGrant({ grants }: TrustedState, root: Root): GrantLedger {
  const { current } = grants
  return current === null || isSignedBy(root, 'targets', current.text) ? grants : withEnded(grants)
}

function isOfEnrolment(
  { org, device_id }: Pick<Enrolment, 'org' | 'device_id'>,
  state: TrustedState,
): boolean {
  return state.org === org && state.device_id === device_id
}

/** The kept view, or the reason why the state, or one document of it, cannot be used. */
async function restoreView(
  { enrolment, store, clock }: StateKeeperDeps,
  state: TrustedState,
): Promise<FetchedView | StateProblem | string | null> {
  if (!isOfEnrolment(enrolment, state)) return 'the kept state belongs to another enrolment'
  const root = followRoots(enrolment.root, state.roots.slice(0, state.view?.roots))
  if (root === null || followRoots(enrolment.root, state.roots) === null)
    return 'the kept roots are invalid'
  if (state.view === null) return null
  const bounds = clock.bounds()
  const context = { enrolment, root, state, bounds, isKept: true }
  const view = verifyView(state.view, context)
  if ('kind' in view) return view.message
  const texts: string[] = []
  for (let first = 0; first < view.documents.length; first += READ_AT_ONCE) {
    const some = view.documents.slice(first, first + READ_AT_ONCE)
    const read = await Promise.all(some.map(({ sha256 }) => store.readDocument(sha256)))
    const missing = some[read.indexOf(null)]
    if (missing !== undefined) {
      const file = await store.quarantineDocument(missing.sha256, clock.now())
      return { file, message: 'a kept policy is missing or damaged' }
    }
    texts.push(...read.filter((text) => text !== null))
  }
  return { view, texts }
}
