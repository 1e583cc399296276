import type { DecisionRecord, EvidenceSettings } from '@palisade/protocol'
import { fc, test } from '@fast-check/vitest'
import { describe, expect } from 'vitest'
import { readDiskLine } from '../../../../agent/src/records/upload/disk-line.ts'
import { createBatch } from '../../../../agent/src/records/upload/record-batch.ts'

/** A word that can be found again, because no other part of a batch has its form. */
const secret = fc
  .array(fc.constantFrom(...'GHJKMNPQRSTVWXYZ'), { minLength: 8, maxLength: 12 })
  .map((letters) => letters.join(''))

const SALT = 'QQQQQQQQQQQQQQQQ'

const settings = fc.record({
  upload: fc.constantFrom('denials' as const, 'sampled' as const, 'full' as const),
  sample_percent: fc.integer({ min: 1, max: 100 }),
  path_depth: fc.integer({ min: 0, max: 4 }),
  programs: fc.boolean(),
  users: fc.boolean(),
})

const drawn = fc.record({
  segments: fc.uniqueArray(secret, { minLength: 0, maxLength: 6 }),
  executable: secret,
  user: secret,
  texts: fc.tuple(secret, secret, secret, secret),
  effect: fc.constantFrom('allow' as const, 'deny' as const),
  pid: fc.integer({ min: 100_000_000, max: 999_999_999 }),
})
type Drawn = typeof drawn extends fc.Arbitrary<infer D> ? D : never

function recordOf({ segments, executable, user, texts, effect, pid }: Drawn): DecisionRecord {
  const [policy_name, rule_name, resource, hint] = texts
  return {
    seq: 1,
    boot: 'boot-1',
    salt: SALT,
    time: '2026-11-21T12:00:00.000Z',
    point: 'local_api',
    protocol: 'decide',
    decision: {
      decision: effect,
      reason: 'rule',
      rules: [
        {
          policy_id: 'pol_1',
          policy_name,
          rule_id: 'rule_1',
          rule_name,
          decision: effect,
          resource: `/${resource}/**`,
          origin: 'local',
        },
      ],
      shadow: {
        decision: effect,
        reason: 'rule',
        rules: [
          {
            policy_id: 'pol_1',
            policy_name,
            rule_id: 'rule_1',
            rule_name,
            decision: effect,
            resource: `/${resource}/**`,
            origin: 'local',
          },
        ],
      },
      request: { action: 'read', path: `/${segments.join('/')}` },
      revision: 7,
      stale: false,
      hint,
    },
    count: 1,
    program: { pid, executable: `/opt/${executable}`, user: { uid: pid, name: user } },
    previous: '0'.repeat(64),
  }
}

/** Words that the settings let leave the machine. */
function shownOf(
  { programs, users, path_depth }: EvidenceSettings,
  { executable, user, segments }: Drawn,
): string[] {
  return [
    ...(programs ? [executable] : []),
    ...(users ? [user] : []),
    ...segments.slice(0, path_depth),
  ]
}

describe('a batch of decision records', () => {
  test.prop([settings, drawn], { numRuns: 2_000 })(
    'has no member that the settings keep on the machine in any byte',
    (chosen, draw) => {
      const line = readDiskLine(Buffer.from(JSON.stringify(recordOf(draw))))
      if (line === null) throw new Error('not a line')
      const options = { settings: chosen, deviceId: 'dev_1', maxCovered: 10, isWithheld: false }
      const batch = createBatch(options)
      batch.add(line)
      const text = batch.finish()?.text ?? ''

      const { segments, executable, user, texts, pid, effect } = draw
      const isSent = text.includes('"record"')
      const shown = isSent ? shownOf(chosen, draw) : []
      const absent = [...texts, `${pid}`, SALT, executable, user, ...segments]
      const isAlsoShown = (word: string): boolean => shown.some((each) => each.includes(word))
      for (const word of absent) if (!isAlsoShown(word)) expect(text).not.toContain(word)
      for (const word of shown) expect(text).toContain(word)
      if (chosen.upload === 'full' || effect === 'deny') expect(isSent).toBe(true)
      if (chosen.upload === 'denials' && effect === 'allow') expect(isSent).toBe(false)
      const isCut = chosen.path_depth === 0 || segments.length > chosen.path_depth
      if (isSent) expect(text.includes('"path_cut":true')).toBe(isCut)
    },
  )
})
