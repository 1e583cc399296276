import { Metadata, TargetFile, Targets } from '@tufjs/models'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { sha256 } from '../../../../server/src/views/keys/metadata.ts'
import { createDistributionKey, openRoleKey } from '../../../../server/src/views/keys/role-key.ts'
import { signTargets } from '../../../../server/src/views/publication/sign-view.ts'
import { formatListing } from '../../../../server/src/views/content/targets-text.ts'

const AT = new Date('2026-11-21T08:00:00Z')
const key = openRoleKey(createDistributionKey('acme', 'targets', AT))
const signing = { org: 'acme', view: 'a'.repeat(32), version: 1_790_000_000, atMs: AT.getTime() }

/** Printable text, including characters that canonical JSON escapes. */
const text = fc.stringMatching(/^[ -~é–]{1,12}$/)
const document = fc
  .record({ id: text, body: fc.uint8Array(), mode: text, revision: fc.nat(), schema: fc.nat() })
  .map(({ id, body, ...custom }) => {
    const name = `policies/${id}.json`
    return { name, sha256: sha256(body), body, custom }
  })
const documents = fc.uniqueArray(document, { maxLength: 20, selector: ({ name }) => name })
const settings = fc.record({
  expires_after_seconds: fc.nat(),
  fresh_for_seconds: fc.nat(),
  poll_seconds: fc.nat(),
  resolve_unlisted_names: fc.boolean(),
  revision: fc.nat(),
})

describe('signTargets', () => {
  it('signs the same bytes as the library', () => {
    fc.assert(
      fc.property(documents, settings, (listed, chosen) => {
        const targets = new Targets({
          version: signing.version,
          specVersion: '1.0.31',
          expires: '2027-02-19T08:00:00Z',
          unrecognizedFields: {
            'x-org': signing.org,
            'x-view': signing.view,
            'x-settings': { ...chosen },
          },
        })
        for (const { name, body, custom, ...rest } of listed)
          targets.addTarget(
            new TargetFile({
              path: name,
              length: body.byteLength,
              hashes: { sha256: rest.sha256 },
              unrecognizedFields: { custom: { ...custom } },
            }),
          )
        const signed: string[] = []
        const metadata = new Metadata(targets)
        metadata.sign((bytes) => {
          signed.push(Buffer.from(bytes).toString())
          return key.signBytes(bytes)
        })

        const content = { listing: formatListing(listed), settings: chosen }
        const { body, head, tail } = signTargets({ ...signing, key }, content)
        const file = body.toString()

        const { signatures } = metadata.toJSON()
        expect(file).toBe(`{"signatures":${JSON.stringify(signatures)},"signed":${signed[0]}}`)
        expect(JSON.parse(file)).toEqual(metadata.toJSON())
        expect(`${head}${content.listing.slice(1, -1)}${tail}`).toBe(file)
      }),
      { seed: 5, numRuns: 200 },
    )
  })
})
