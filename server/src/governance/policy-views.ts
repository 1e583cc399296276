import type { Principal } from '../identity/principal.ts'
import { createRecent } from '../platform/recent.ts'

/** A policy may have 400 KB, so entries differ a thousandfold and bytes are what is bounded. */
const MAX_BYTES = 32 * 1024 * 1024
/** What an entry costs besides its body. */
const ENTRY_BYTES = 512

/** A policy as it is sent, and its strong entity tag with the quotes. */
export interface PolicyView {
  readonly etag: string
  /** JSON; see `bodyOf`. */
  readonly body: string | Buffer
}

/** Longer than this a copy for each answer takes longer than a second write. */
const MAX_TEXT_LENGTH = 32 * 1024

/**
 * A short body is a text: Node sends it in one write with the headers before it, and bytes in two.
 */
export function bodyOf(json: string): string | Buffer {
  return json.length > MAX_TEXT_LENGTH ? Buffer.from(json) : json
}

/** Who asks for which policy. */
export interface ViewCall {
  readonly principal: Principal
  readonly org: string
  readonly policyId: string
}

/**
 * Policies that were shown, and to whom: both as of a generation of the store, and worth nothing in
 * any other. So a right that was taken away is missed at the next request.
 */
export interface PolicyViews {
  /** Null unless the caller was let into the organization and the policy was read since. */
  find(call: ViewCall): PolicyView | null
  /** `generation` is that of before the store was read. */
  keep(call: ViewCall, generation: number, view: PolicyView): void
}

/** Keeps at most 32 MiB of policies; `generation` is `Store.generation`. */
export function createPolicyViews(generation: () => number, maxBytes = MAX_BYTES): PolicyViews {
  // A principal is forgotten with the last that knows it, which is the authenticator.
  const readers = new WeakMap<Principal, { generation: number; orgs: Set<string> }>()
  const views = createRecent<{ readonly generation: number; readonly view: PolicyView }>(
    maxBytes,
    ({ view }) => sizeOf(view),
  )

  return {
    find({ principal, org, policyId }) {
      const reader = readers.get(principal)
      const entry = views.find(keyOf(org, policyId))
      if (reader === undefined || entry === null || !reader.orgs.has(org)) return null
      const current = generation()
      return reader.generation === current && entry.generation === current ? entry.view : null
    },

    keep({ principal, org, policyId }, readAt, view) {
      const reader = readers.get(principal)
      if (reader?.generation === readAt) reader.orgs.add(org)
      else readers.set(principal, { generation: readAt, orgs: new Set([org]) })

      views.keep(keyOf(org, policyId), { generation: readAt, view })
    },
  }
}

/** Neither a name nor an id holds a line feed. */
function keyOf(org: string, policyId: string): string {
  return `${org}\n${policyId}`
}

/** A text may have two bytes for each character. */
function sizeOf({ body }: PolicyView): number {
  return (typeof body === 'string' ? 2 * body.length : body.length) + ENTRY_BYTES
}
