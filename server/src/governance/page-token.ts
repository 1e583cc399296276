import { createHmac, timingSafeEqual } from 'node:crypto'
import { invalidArgument } from '../http/api-error.ts'
import type { Store } from '../store/store.ts'
import { ensureSecret } from '../tokens/ensure-secret.ts'

const SECRET_NAME = 'page_token_mac'
const MAC_BYTES = 16

/** The server's own key for page tokens; kept, so that tokens outlive a restart. */
export async function loadPageTokenKey(
  store: Store,
  random: (bytes: number) => Uint8Array,
): Promise<Uint8Array> {
  return ensureSecret(store, SECRET_NAME, random)
}

/** A token for the page after `afterId`; good in this organization only. */
export function formatPageToken(key: Uint8Array, org: string, afterId: string): string {
  return Buffer.concat([macOf(key, org, afterId), Buffer.from(afterId)]).toString('base64url')
}

/** The id that a page starts after; throws 400 for a token that is not ours or of this place. */
export function readPageToken(key: Uint8Array, org: string, token: string): string {
  const bytes = Buffer.from(token, 'base64url')
  const afterId = bytes.subarray(MAC_BYTES).toString()
  const expected = formatPageToken(key, org, afterId)
  // The texts are compared, not the bytes: base64url has several spellings of the same bytes.
  if (isSameText(token, expected)) return afterId
  throw invalidArgument('`page_token` is not one of this list; start from the first page', {
    field: 'page_token',
  })
}

function isSameText(a: string, b: string): boolean {
  const left = Buffer.from(a)
  const right = Buffer.from(b)
  return left.length === right.length && timingSafeEqual(left, right)
}

function macOf(key: Uint8Array, org: string, afterId: string): Buffer {
  const text = JSON.stringify(['policies', org, afterId])
  return createHmac('sha256', key).update(text).digest().subarray(0, MAC_BYTES)
}
