import { describe, expect, it } from 'vitest'
import { policy, rule } from '../policy-core/policies.ts'
import { palisade } from './evaluator.ts'
import { prepare } from './find-difference.ts'

const refused = { policies: [policy('p', rule('a', 'allow', ['connect:tcp'], '**.a..test'))] }

describe('prepare', () => {
  it('returns null for policies that both evaluators reject', () => {
    expect(prepare(palisade, refused, {})).toBeNull()
  })

  it('returns a difference for policies that only the reference rejects', () => {
    const careless = () => palisade({ policies: [] }, {})

    expect(prepare(careless, refused, {})).toMatchObject({ call: 'compile', answered: 'accepted' })
  })
})
