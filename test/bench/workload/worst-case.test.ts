import { compilePolicy, decide } from '@palisade/policy-core'
import { expect, it } from 'vitest'
import { WORST_INPUTS } from '../../../bench/src/decide/case.ts'
import { createWorstCase } from '../../../bench/src/workload/worst-case.ts'

it.each(WORST_INPUTS)('creates a valid request and valid policies: %s', (input) => {
  const { policies, request } = createWorstCase(input)

  expect(decide(compilePolicy({ policies }), request).reason).not.toBe('invalid_request')
})

it('uses the longest valid name and 50,000 distinct suffixes near it', () => {
  const { policies, request } = createWorstCase('253 characters, 50,000 suffixes')
  const resources = policies.flatMap((policy) =>
    (policy.allowlist_v0?.rules ?? []).flatMap((rule) => rule.resources),
  )

  expect(request).toMatchObject({ host: expect.stringMatching(/^.{253}$/) })
  expect(new Set(resources).size).toBe(50_000)
})
