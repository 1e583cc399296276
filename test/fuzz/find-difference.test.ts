import { describe, expect, it } from 'vitest'
import { policy, rule } from '../policy-core/policies.ts'
import { palisade } from './evaluator.ts'
import { prepare } from './find-difference.ts'

const refused = { policies: [policy('p', rule('a', 'allow', ['connect:tcp'], '**.a..test'))] }

describe('prepare', () => {
  it('finds no difference in policies that both readings refuse', () => {
    expect(prepare(palisade, refused, {})).toBeNull()
  })

  it('finds one in policies that only the reference refuses', () => {
    const careless = () => palisade({ policies: [] }, {})

    expect(prepare(careless, refused, {})).toMatchObject({ call: 'compile', answered: 'accepted' })
  })
})
