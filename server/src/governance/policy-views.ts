import type { Principal } from '../identity/principal.ts'
import { createLruCache } from '../platform/lru-cache.ts'
import type { WireForm } from './wire-form.ts'

/** Bound in bytes, not entries: a policy may have 400 KB, a thousand times the smallest. */
const MAX_BYTES = 32 * 1024 * 1024
/** Overhead of an entry besides its body. */
const ENTRY_BYTES = 512

/** The JSON of a policy and its strong entity tag, with quotes. */
export interface PolicyView {
  readonly etag: string
  /** JSON; see `bodyOf`. */
  readonly body: string | Buffer
}

/** Beyond this length, copying the text for each answer takes longer than a second write. */
const MAX_TEXT_LENGTH = 32 * 1024

/** A short body stays a string: Node sends it in one write with the headers, a buffer in two. */
export function bodyOf(json: string): string | Buffer {
  return json.length > MAX_TEXT_LENGTH ? Buffer.from(json) : json
}

/** A caller's request for a policy. */
export interface ViewCall {
  readonly principal: Principal
  readonly org: string
  readonly policyId: string
  /** Absent means that of the governance API. */
  readonly form?: WireForm['name']
}

/**
 * Cache of policies and of the callers authorized to read them. Both are valid for one generation
 * of the store only, so that a revoked permission takes effect at the next request.
 */
export interface PolicyViews {
  /** Null unless the current generation has both the caller's authorization and the policy. */
  find(call: ViewCall): PolicyView | null
  /** `generation` is the one from before the store was read. */
  keep(call: ViewCall, generation: number, view: PolicyView): void
}

/** Keeps at most 32 MiB of policies; `generation` is `Store.generation`. */
export function createPolicyViews(generation: () => number, maxBytes = MAX_BYTES): PolicyViews {
  // The authenticator holds each principal; an entry is collected once it lets go of the principal.
  const readers = new WeakMap<Principal, { generation: number; orgs: Set<string> }>()
  const views = createLruCache<{ readonly generation: number; readonly view: PolicyView }>(
    maxBytes,
    ({ view }) => sizeOf(view),
  )

  return {
    find({ principal, org, policyId, form }) {
      const reader = readers.get(principal)
      const entry = views.find(keyOf(org, policyId, form))
      if (reader === undefined || entry === null || !reader.orgs.has(org)) return null
      const current = generation()
      return reader.generation === current && entry.generation === current ? entry.view : null
    },

    keep({ principal, org, policyId, form }, readAt, view) {
      const reader = readers.get(principal)
      if (reader?.generation === readAt) reader.orgs.add(org)
      else readers.set(principal, { generation: readAt, orgs: new Set([org]) })

      views.keep(keyOf(org, policyId, form), { generation: readAt, view })
    },
  }
}

/** Unambiguous: neither an organization name nor an id contains a line feed. */
function keyOf(org: string, policyId: string, form = 'contract'): string {
  return `${org}\n${policyId}\n${form}`
}

/** Counts two bytes a character for strings, the most that V8 takes. */
function sizeOf({ body }: PolicyView): number {
  return (typeof body === 'string' ? 2 * body.length : body.length) + ENTRY_BYTES
}
