import { CompactSign, base64url } from 'jose'
import { describe, expect, it } from 'vitest'
import { verifyBundle, type Floor, type Verified } from '../../../agent/src/sync/verify-bundle.ts'
import { bundleClaims, createSigner, hoursFromNow, NOW_MS, policyOf } from '../fixture/bundle.ts'

const signer = await createSigner()
const stranger = await createSigner('key-2')
const impostor = await createSigner('key-1')

function verify(jws: string, floor: Floor | null = null, acceptExpired = false): Promise<Verified> {
  return verifyBundle(jws, { enrolment: signer.enrolment, floor, nowMs: NOW_MS, acceptExpired })
}

function splice(jws: string, part: number, change: (text: string) => string): string {
  const parts = jws.split('.')
  const text = new TextDecoder().decode(base64url.decode(parts[part] ?? ''))
  parts[part] = base64url.encode(change(text))
  return parts.join('.')
}

describe('verifyBundle', async () => {
  it('accepts a bundle of a pinned key for this device', async () => {
    const claims = bundleClaims({ policies: [policyOf(['allow', 'connect:tcp', 'example.com'])] })

    const verified = await verify(await signer.sign(claims))

    expect(verified).toEqual({ kind: 'bundle', bundle: claims })
  })

  const good = await signer.sign(bundleClaims())
  const hs256 = await new CompactSign(new TextEncoder().encode(JSON.stringify(bundleClaims())))
    .setProtectedHeader({ alg: 'HS256', typ: 'palisade-bundle+jws', kid: 'key-1' })
    .sign(base64url.decode(signer.enrolment.bundle_keys.keys[0]?.x ?? ''))
  const unsigned = splice(good, 0, (text) => text.replace('EdDSA', 'none'))

  it.each([
    ['a key that is not pinned', 'unknown_key', await stranger.sign(bundleClaims())],
    ['another key under the pinned id', 'bad_signature', await impostor.sign(bundleClaims())],
    ['another kind of document', 'wrong_type', await signer.sign(bundleClaims(), { typ: 'JWT' })],
    ['no kind at all', 'malformed', await signer.sign(bundleClaims(), { typ: undefined })],
    ['the algorithm none', 'wrong_algorithm', unsigned],
    ['none and no signature', 'wrong_algorithm', unsigned.replace(/[^.]*$/, '')],
    ['a MAC made with the public key', 'wrong_algorithm', hs256],
    ['a changed payload', 'bad_signature', splice(good, 1, (text) => text.replace(':7', ':8'))],
    ['a changed header', 'bad_signature', splice(good, 0, (text) => `${text} `)],
    [
      'a header with two algorithms',
      'malformed',
      splice(good, 0, (text) => text.replace('{', '{"alg":"none",')),
    ],
    [
      'a critical header extension',
      'malformed',
      splice(good, 0, (text) => text.replace('{', '{"crit":["x"],"x":1,')),
    ],
    ['a cut signature', 'bad_signature', good.slice(0, -4)],
    ['half of the document', 'malformed', good.slice(0, good.length / 3)],
    ['text in front', 'malformed', ` ${good}`],
    ['a line feed behind', 'malformed', `${good}\n`],
    ['a fourth part', 'malformed', `${good}.AAAA`],
    ['an HTML page', 'malformed', '<html></html>'],
    ['nothing', 'malformed', ''],
    [
      'another organization',
      'wrong_organization',
      await signer.sign(bundleClaims({ org: 'other' })),
    ],
    ['another device', 'wrong_device', await signer.sign(bundleClaims({ device_id: 'dev_2' }))],
    ['another user', 'wrong_user', await signer.sign(bundleClaims({ user: 'bob' }))],
    [
      'no user where one is enrolled',
      'wrong_user',
      await signer.sign(bundleClaims({ user: null })),
    ],
    [
      'an expiry that has passed',
      'expired',
      await signer.sign(
        bundleClaims({ issued_at: hoursFromNow(-9), expires_at: hoursFromNow(-1) }),
      ),
    ],
    [
      'an expiry right now',
      'expired',
      await signer.sign(bundleClaims({ issued_at: hoursFromNow(-9), expires_at: hoursFromNow(0) })),
    ],
    [
      'an expiry before the issue',
      'malformed',
      await signer.sign(bundleClaims({ expires_at: hoursFromNow(-1) })),
    ],
    [
      'a member that stands twice',
      'malformed',
      await signer.signText(JSON.stringify(bundleClaims()).replace('{', '{"revision":9,')),
    ],
    ['a payload that is not JSON', 'malformed', await signer.signText('revision: 7')],
    ['a payload without identity', 'malformed', await signer.signText('{"schema":1}')],
    ['a fractional revision', 'malformed', await signer.sign(bundleClaims({ revision: 7.5 }))],
    [
      'a time without milliseconds',
      'malformed',
      await signer.sign(bundleClaims({ issued_at: '2026-11-21T12:00:00Z' })),
    ],
  ])('refuses %s as %s', async (_what, code, jws) => {
    expect(await verify(jws)).toMatchObject({ kind: 'fault', code })
  })

  it.each([
    ['a lower revision', { revision: 6 }, 'older_revision'],
    ['the same revision of an earlier issue', { issued_at: hoursFromNow(-1) }, 'older_issue'],
  ])('refuses %s than the one in force', async (_what, overrides, code) => {
    const floor = { revision: 7, issued_at: hoursFromNow(0) }

    expect(await verify(await signer.sign(bundleClaims(overrides)), floor)).toMatchObject({ code })
  })

  it.each([
    ['the same issue', {}],
    ['a later issue of the same revision', { issued_at: hoursFromNow(1) }],
    ['a higher revision of an earlier issue', { revision: 8, issued_at: hoursFromNow(-1) }],
  ])('accepts %s', async (_what, overrides) => {
    const floor = { revision: 7, issued_at: hoursFromNow(0) }

    expect(await verify(await signer.sign(bundleClaims(overrides)), floor)).toMatchObject({
      kind: 'bundle',
    })
  })

  it.each([
    ['another schema', { ...bundleClaims(), schema: 2, news: [] }],
    ['an unknown member', { ...bundleClaims(), news: [] }],
    [
      'an unknown action',
      {
        ...bundleClaims(),
        policies: [
          {
            ...policyOf(['allow', 'connect:tcp', 'a.test']),
            allowlist_v0: {
              domain: 'network',
              rules: [
                {
                  id: 'r',
                  name: 'r',
                  actions: ['connect:sctp'],
                  decision: 'allow',
                  resources: ['a.test'],
                },
              ],
            },
          },
        ],
      },
    ],
    [
      'an unknown rule-set format',
      { ...bundleClaims(), policies: [{ ...policyOf(), allowlist_v1: {} }] },
    ],
  ])('tells a signed bundle with %s from a broken one', async (_what, claims) => {
    expect(await verify(await signer.sign(claims))).toMatchObject({
      kind: 'unsupported',
      revision: 7,
    })
  })

  it('says so when the payload is no object', async () => {
    expect(await verify(await signer.signText('[]'))).toEqual({
      kind: 'fault',
      code: 'malformed',
      message: 'the bundle is not a JSON object',
    })
  })

  it('does not call a foreign bundle unsupported', async () => {
    const claims = { ...bundleClaims({ device_id: 'dev_2' }), schema: 2 }

    expect(await verify(await signer.sign(claims))).toMatchObject({ code: 'wrong_device' })
  })

  it('accepts an expired bundle from the cache, where it denies', async () => {
    const jws = await signer.sign(
      bundleClaims({ issued_at: hoursFromNow(-9), expires_at: hoursFromNow(-1) }),
    )

    expect(await verify(jws, null, true)).toMatchObject({ kind: 'bundle' })
  })
})
