import { request as requestPlain, type ClientRequest } from 'node:http'
import { request as requestSecure } from 'node:https'
import { isIPv6, type LookupFunction } from 'node:net'
import { createNameLookup, type NameLookup } from './name-lookup.ts'
import type { ReachableAddresses } from './reachable-addresses.ts'
import type { SignedDelivery } from './sign-delivery.ts'
import { addressOf } from './webhook-url.ts'

export interface SendOutcome {
  /** Null when there was no answer. */
  readonly status: number | null
  /** A short word for the failure; null for a 2xx. */
  readonly error: string | null
}

export type SendDelivery = (
  url: string,
  delivery: SignedDelivery,
  signal: AbortSignal,
) => Promise<SendOutcome>

export interface SendDeps {
  readonly reachable: ReachableAddresses
  /** For all of it, resolving included. */
  readonly timeoutMs: number
  /** Default: the name servers of the machine. */
  readonly lookup?: NameLookup | undefined
}

/**
 * Sends one delivery and returns its outcome; never throws. The name is resolved once, and exactly
 * a permitted address is dialled: a second lookup, which may give another address, is never made.
 * Redirects are not followed, and only the status of the response is read.
 */
export function createSendDelivery({ reachable, timeoutMs, lookup }: SendDeps): SendDelivery {
  const addressesOf = lookup ?? createNameLookup()
  return async (text, delivery, stop) => {
    const signal = AbortSignal.any([stop, AbortSignal.timeout(timeoutMs)])
    try {
      const url = new URL(text)
      const literal = addressOf(url)
      const known =
        literal === null ? await within(addressesOf(url.hostname, signal), signal) : [literal]
      const address = known.find((candidate) => mayDial(url, candidate, reachable))
      if (address === undefined) return failure('address_not_allowed')
      const status = await post(url, address, delivery, signal)
      if (status >= 200 && status < 300) return { status, error: null }
      return { status, error: status >= 300 && status < 400 ? 'redirect' : 'status' }
    } catch (error) {
      return failure(signal.aborted ? 'timeout' : wordFor(error))
    }
  }
}

/** The operator may have closed an address that was open when the URL was accepted. */
function mayDial({ protocol }: URL, address: string, reachable: ReachableAddresses): boolean {
  return protocol === 'https:' ? reachable.includes(address) : reachable.isOpenLoopback(address)
}

function post(
  url: URL,
  address: string,
  { headers, body }: SignedDelivery,
  signal: AbortSignal,
): Promise<number> {
  const family = isIPv6(address) ? 6 : 4
  const lookup: LookupFunction = (_name, { all }, done) => {
    if (all === true) done(null, [{ address, family }])
    else done(null, address, family)
  }
  const options = {
    method: 'POST',
    headers: { ...headers, 'content-length': Buffer.byteLength(body) },
    agent: false,
    // Said, because NODE_TLS_REJECT_UNAUTHORIZED in the environment decides where it is not.
    rejectUnauthorized: true,
    signal,
    lookup,
  }
  return new Promise((settle, reject) => {
    const request: ClientRequest =
      url.protocol === 'https:' ? requestSecure(url, options) : requestPlain(url, options)
    // For the whole life of the request: an error after the response must not end the process.
    request.on('error', reject)
    // An answer that switches protocols ends the request without a response and without an error.
    request.once('close', () => reject(new Error('no answer')))
    request.once('response', (response) => {
      response.on('error', reject)
      settle(response.statusCode ?? 0)
      // Only the status of the response counts, so its body is not awaited.
      response.destroy()
    })
    request.end(body)
  })
}

/** The resolver cannot be stopped; its late answer is dropped. */
async function within<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const refuse = () => reject(new Error('aborted'))
  signal.addEventListener('abort', refuse, { once: true })
  try {
    return await Promise.race([work, promise])
  } finally {
    signal.removeEventListener('abort', refuse)
  }
}

function wordFor(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  switch (code) {
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
    case 'ETIMEOUT':
      return 'name_not_found'
    case 'ECONNREFUSED':
      return 'connection_refused'
    default:
      return /CERT|SSL|TLS|SELF_SIGNED|VERIFY/.test(code) ? 'certificate' : 'connection_failed'
  }
}

function failure(error: string): SendOutcome {
  return { status: null, error }
}
