import { createHmac, timingSafeEqual } from 'node:crypto'
import { invalidArgument } from '../../platform/api-error.ts'
import type { Store } from '../../store/store.ts'
import { ensureSecret } from '../../store/ensure-secret.ts'

const SECRET_NAME = 'page_token_mac'
const MAC_BYTES = 16
const MAX_PAGE_SIZE = 100

/** Loads the server's key for page tokens. It is stored, so that tokens survive a restart. */
export async function loadPageTokenKey(
  store: Store,
  random: (bytes: number) => Uint8Array,
): Promise<Uint8Array> {
  return ensureSecret(store, SECRET_NAME, random)
}

/** Returns the number of entries of a page. Absent, 0 and more than 100 all mean 100. */
export function readPageSize(text: string | undefined): number {
  const wanted = Number(text ?? 0)
  return wanted === 0 ? MAX_PAGE_SIZE : Math.min(wanted, MAX_PAGE_SIZE)
}

/** The scope of a token: one list of one owner. */
export interface PageList {
  readonly of:
    | 'access_requests'
    | 'audit_log'
    | 'policies'
    | 'events'
    | 'devices'
    | 'organization_tokens'
    | 'personal_tokens'
    | 'members'
    | 'unused_rules'
    | 'teams'
    | 'team_approvers'
    | 'organization_invitations'
    | 'user_invitations'
    | 'user_organizations'
    | 'enrolment_tokens'
    | 'webhooks'
    | 'deliveries'
    | 'rollouts'
  /** The organization, user or webhook that the list belongs to. */
  readonly owner: string
  /** The query parameter that carries the token. */
  readonly parameter: string
}

/** Formats a token for the page that starts after the position `after`. */
export function formatPageToken(key: Uint8Array, list: PageList, after: string): string {
  return Buffer.concat([macOf(key, list, after), Buffer.from(after)]).toString('base64url')
}

/** Returns the position of a token. Throws 400 for a forged token or one of another list. */
export function readPageToken(key: Uint8Array, list: PageList, token: string): string {
  const bytes = Buffer.from(token, 'base64url')
  const after = bytes.subarray(MAC_BYTES).toString()
  const expected = formatPageToken(key, list, after)
  // Compares texts, not bytes: base64url has several spellings of the same bytes.
  if (isSameText(token, expected)) return after
  const { parameter } = list
  throw invalidArgument(`\`${parameter}\` is not of this list; start from the first page`, {
    field: parameter,
  })
}

function isSameText(a: string, b: string): boolean {
  const left = Buffer.from(a)
  const right = Buffer.from(b)
  return left.length === right.length && timingSafeEqual(left, right)
}

function macOf(key: Uint8Array, { of, owner }: PageList, after: string): Buffer {
  const text = JSON.stringify([of, owner, after])
  return createHmac('sha256', key).update(text).digest().subarray(0, MAC_BYTES)
}
