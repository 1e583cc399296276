import type { Enrolment } from '@palisade/protocol'
import { NO_GRANTS, withEnded, type GrantLedger } from '../../break-glass/grant-ledger.ts'
import type { TrustedClock } from '../../state/trusted-clock.ts'
import { describeDiskFault, fault, type Fault } from '../fault.ts'
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

/** A view with its documents, verified. */
export interface FetchedView {
  readonly view: VerifiedView
  /** In the order of `view.documents`. */
  readonly texts: readonly string[]
}

/** What this machine trusts, in memory as it is on disk. */
export interface StateKeeper {
  state(): TrustedState
  /** The newest; null when those that were kept do not lead on from the pinned one. */
  root(): Root | null
  grants(): GrantLedger
  isRevoked(): boolean
  /** What was kept; a problem where something was damaged, and is out of the way now. */
  restore(): Promise<{ readonly kept: FetchedView | null; readonly problem: StateProblem | null }>
  /** Roots are kept whatever comes next: they are how an organization recovers from a theft. */
  keepRoots(roots: readonly string[]): Promise<Root | Fault>
  /**
   * Makes the view what this machine trusts, durably. Throws the system's error; then nothing
   * changed.
   */
  keepView(view: VerifiedView): Promise<void>
  /**
   * Durable, in both copies, when it resolves. Throws the system's error; then nothing changed. Not
   * reentrant.
   */
  keepInBoth(changed: Partial<Pick<TrustedState, 'grants' | 'is_revoked'>>): Promise<void>
  /** Keeps what is known about the time, so that a restart does not make it earlier. */
  keepTime(): Promise<void>
  /** Forgets what was restored, because it cannot be used; answers where it is now. */
  setAside(): Promise<string>
}

/**
 * Kept documents; each takes five turns of a thread, which add up to a third of a start on a busy
 * machine. No more, because a machine may allow few open files, and one that cannot be opened
 * passes for damaged.
 */
const READ_AT_ONCE = 16

export function createStateKeeper(deps: StateKeeperDeps): StateKeeper {
  const { enrolment, store, clock } = deps
  let { state, root } = begin(enrolment)
  /** Hashes of the documents of the view in `state`, when it came from here. */
  let kept: readonly string[] | null = null

  async function setAside(): Promise<string> {
    const file = await store.setAside(clock.now())
    ;({ state, root } = begin(enrolment, state))
    kept = null
    return file
  }

  /**
   * One copy of the state; another may be there when it is not usable, because it is out of the way
   * then.
   */
  async function restoreCopy() {
    const read = await store.read(clock.now())
    if (read.state === null) return { kept: null, problem: read.problem, isUsable: true }
    state = read.state
    kept = null
    root = followRoots(enrolment.root, state.roots)
    if (isOfEnrolment(enrolment, state)) clock.recall(state.issued_ms)
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

    async restore() {
      clock.restore(await store.readTime())
      const first = await restoreCopy()
      if (first.isUsable) return first
      // The other copy still knows what must not come back.
      const { kept: other, problem } = await restoreCopy()
      return { kept: other, problem: first.problem ?? problem }
    },

    async keepRoots(roots) {
      const next = root === null ? null : addRoots(root, state, roots)
      if (next === null)
        return fault('bad_signature', 'the roots of the server do not lead on from the pinned one')
      try {
        if (next.isBegun) {
          clock.forgetIssues()
          // First: with the roots on disk nobody would see any more that the keys were others.
          if (state.view !== null) await store.writeTime(clock.kept())
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
      // Those listed before stay as well: to go back to them fetches nothing.
      const listed = view.documents.map(({ sha256 }) => sha256)
      const hashes = new Set([...(kept ?? listHashes(state)), ...listed])
      state = next
      kept = listed
      // What stays takes room and does no harm.
      await store.keepDocuments(hashes).catch(() => {})
    },

    async keepInBoth(changed) {
      await store.write({ ...state, ...changed })
      state = { ...state, ...changed }
    },

    async keepTime() {
      // Before there is anything to keep, there is nothing that the time could bring back either.
      if (state.view !== null) await store.writeTime(clock.kept())
    },
  }
}

/** Before anything was accepted, or after what was kept could not be used. */
function begin(
  { org, device_id, root: pinned }: Enrolment,
  former?: TrustedState,
): { readonly state: TrustedState; readonly root: Root | null } {
  const isOurs = former !== undefined && isOfEnrolment({ org, device_id }, former)
  // What cannot be used makes no grant good for a second time.
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

/** Null when the roots do not lead on from those that are trusted. */
function addRoots(
  former: Root,
  state: TrustedState,
  added: readonly string[],
): { readonly state: TrustedState; readonly root: Root; readonly isBegun: boolean } | null {
  const roots = [...state.roots, ...added]
  const root = followFrom(former, added)
  if (root === null) return null
  const isBegun = hasOtherKeys(former, root)
  const begun = isBegun ? { ...NO_MARKS, issued_ms: 0 } : {}
  return { state: { ...state, ...begun, roots, grants: judgeGrants(state, root) }, root, isBegun }
}

/**
 * With other keys for targets a grant is over: whoever stole the former ones may have signed it.
 */
function judgeGrants({ grants }: TrustedState, root: Root): GrantLedger {
  const { current } = grants
  return current === null || isSignedBy(root, 'targets', current.text) ? grants : withEnded(grants)
}

function isOfEnrolment(
  { org, device_id }: Pick<Enrolment, 'org' | 'device_id'>,
  state: TrustedState,
): boolean {
  return state.org === org && state.device_id === device_id
}

/** What was kept, or why the state, or one document of it, cannot be used. */
async function restoreView(
  { enrolment, store, clock }: StateKeeperDeps,
  state: TrustedState,
): Promise<FetchedView | StateProblem | string | null> {
  if (!isOfEnrolment(enrolment, state)) return 'the kept state is of another enrolment'
  const root = followRoots(enrolment.root, state.roots.slice(0, state.view?.roots))
  if (root === null || followRoots(enrolment.root, state.roots) === null)
    return 'the kept roots do not hold'
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
