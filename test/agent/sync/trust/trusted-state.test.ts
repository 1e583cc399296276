import { hash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import {
  formatState,
  parseState,
  type TrustedState,
} from '../../../../agent/src/sync/trust/trusted-state.ts'

const STATE: TrustedState = {
  org: 'acme',
  device_id: 'device',
  roots: [],
  view: null,
  marks: { a: { timestamp: 1, snapshot: 1, targets: 1, issued_ms: 1 } },
  marks_floor_ms: 0,
  newest_assignment: null,
  issued_ms: 1,
  grants: {
    used: [{ id: 'grant', issued_ms: 1 }],
    passed_ms: 0,
    current: { text: 'grant', begun_ms: 1 },
  },
  is_revoked: false,
}

/** Seals any content like the agent. */
function seal(state: unknown): string {
  const text = JSON.stringify(state)
  return JSON.stringify({ sum: hash('sha256', text), state: text })
}

/** The state with one member replaced, at each path in turn. */
function withEach(value: unknown, change: unknown): unknown[] {
  if (typeof value !== 'object' || value === null) return [change]
  return Object.entries(value).flatMap(([name, member]) => [
    { ...value, [name]: change },
    ...withEach(member, change).map((changed) =>
      Array.isArray(value) ? [changed] : { ...value, [name]: changed },
    ),
  ])
}

describe('a kept state', () => {
  it('is read as it was written', () => {
    expect(parseState(formatState(STATE))).toEqual(STATE)
  })

  it.each([
    'issued_ms',
    'marks_floor_ms',
    'grants.passed_ms',
    'grants.used.0.issued_ms',
    'grants.current.begun_ms',
    'marks.a.issued_ms',
  ])('is damaged when %s is not a representable time', (path) => {
    const number = path.replaceAll('.', '/')
    for (const wrong of [1e300, -1])
      expect(parseState(seal(replaced(STATE, number, wrong)))).toBe(null)
  })

  it.each([[{}], [[]], [7.5], [true]])(
    'is either damaged or complete when a member is %j',
    (change) => {
      const read = withEach(STATE, change).map((changed) => parseState(seal(changed)))

      const complete = read.filter((state) => state !== null)
      expect(complete.map((state) => parseState(formatState(state)))).toEqual(complete)
    },
  )

  it('is damaged when a member is missing or added', () => {
    for (const name of Object.keys(STATE))
      expect(parseState(seal({ ...STATE, [name]: undefined })), name).toBe(null)
    expect(parseState(seal({ ...STATE, refused_ms: 0 }))).toBe(null)
    expect(parseState(seal(replaced(STATE, 'marks/a/issued_ms', undefined)))).toBe(null)
  })
})

function replaced(value: unknown, path: string, change: unknown): unknown {
  const [name = '', ...rest] = path.split('/')
  if (typeof value !== 'object' || value === null) return change
  const members = Object.entries(value).map(([key, member]) =>
    key === name
      ? [key, rest.length === 0 ? change : replaced(member, rest.join('/'), change)]
      : [key, member],
  )
  const object: unknown = Object.fromEntries(members)
  return Array.isArray(value) ? Object.values(object as object) : object
}
