import { exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWK } from 'jose'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import type { AtEnd } from '../../temporary-directory.ts'

export const AUDIENCE = 'https://palisade.example/api'
/** When the test server's clock starts. */
export const NOW_SECONDS = Math.floor(Date.parse('2026-11-21T08:00:00.250Z') / 1000)

export interface KeyPair {
  readonly kid: string
  readonly alg: string
  readonly privateKey: CryptoKey
  readonly jwk: JWK
}

/** An OIDC issuer on a loopback port. */
export interface TestIssuer {
  /** The `iss` of its tokens. */
  readonly url: string
  /** Requested paths, in order. */
  readonly seen: readonly string[]
  /** Replaces the published keys. */
  publish(...keys: readonly KeyPair[]): void
  /** Overrides the answer for a path; null restores the normal one. */
  answer(path: '/discovery' | '/keys' | '/moved', listener: RequestListener | null): void
  stop(): Promise<void>
  start(): Promise<void>
}

const DISCOVERY_PATH = '/realm/.well-known/openid-configuration'

export async function startTestIssuer(atEnd: AtEnd = onTestFinished): Promise<TestIssuer> {
  const seen: string[] = []
  const others = new Map<string, RequestListener>()
  let published: readonly KeyPair[] = []
  let port = 0

  const server = createServer((request, response) => {
    const path = request.url === DISCOVERY_PATH ? '/discovery' : (request.url ?? '')
    seen.push(path)
    const other = others.get(path)
    const keys = published.map(({ jwk }) => jwk)
    if (other !== undefined) other(request, response)
    else if (path === '/discovery')
      response.end(
        JSON.stringify({ issuer: issuer.url, jwks_uri: `http://127.0.0.1:${port}/keys` }),
      )
    else if (path === '/keys') response.end(JSON.stringify({ keys }))
    else response.writeHead(404).end()
  })

  const start = () =>
    new Promise<void>((resolve) => {
      server.listen(port, '127.0.0.1', () => {
        port = (server.address() as AddressInfo).port
        resolve()
      })
    })
  const stop = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })

  await start()
  const issuer: TestIssuer = {
    url: `http://127.0.0.1:${port}/realm`,
    seen,
    publish(...keys) {
      published = keys
    },
    answer(path, listener) {
      if (listener === null) others.delete(path)
      else others.set(path, listener)
    },
    stop,
    start,
  }
  atEnd(stop)
  return issuer
}

export async function createKey(kid: string, alg = 'ES256'): Promise<KeyPair> {
  const { privateKey, publicKey } = await generateKeyPair(alg)
  return { kid, alg, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } }
}

/** A valid token with the given changes; a claim of `undefined` is left out. */
export function signToken(
  { kid, alg, privateKey }: KeyPair,
  claims: Readonly<Record<string, unknown>>,
  header: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  const payload = {
    aud: AUDIENCE,
    iat: NOW_SECONDS,
    exp: NOW_SECONDS + 300,
    ...claims,
  }
  return new SignJWT(payload)
    .setProtectedHeader({ alg, typ: 'at+jwt', kid, ...header })
    .sign(privateKey)
}
