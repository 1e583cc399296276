import { createDeviceKey, createProver } from '@palisade/client'
import { expect, it } from 'vitest'
import { createKnownKeys } from '../../../../server/src/identity/device/known-keys.ts'
import { readHeader } from '../../../../server/src/identity/device/verify-proof.ts'

/** The header of a machine's proofs, and its key. */
function newHeader() {
  const proof = createProver(createDeviceKey(), Date.now)({ method: 'GET', url: 'http://a.test/' })
  const [header = ''] = proof.split('.')
  const key = readHeader(header)
  if (key === null) throw new Error('this is no header')
  return { header, key }
}

it('finds a key only by its machine and its exact header', () => {
  const keys = createKnownKeys()
  const [own, other] = [newHeader(), newHeader()]
  keys.keep('own', own.header, own.key)
  keys.keep('__proto__', other.header, other.key)

  expect(keys.find('own', own.header)).toBe(own.key)
  expect(keys.find('__proto__', other.header)).toBe(other.key)
  expect(keys.find('own', other.header)).toBeNull()
  expect(keys.find('__proto__', own.header)).toBeNull()
  expect(keys.find('nobody', own.header)).toBeNull()
  expect(keys.find('own', `${own.header}A`)).toBeNull()
})

it('keeps one entry per machine', () => {
  const keys = createKnownKeys(8)
  const [own, hostile] = [newHeader(), newHeader()]
  keys.keep('own', own.header, own.key)

  for (let made = 0; made < 100; made += 1) keys.keep('hostile', `header${made}`, hostile.key)

  expect(keys.find('own', own.header)).toBe(own.key)
  expect(keys.find('hostile', 'header98')).toBeNull()
  expect(keys.find('hostile', 'header99')).toBe(hostile.key)
})

it('replaces the key of a machine that was enrolled again', () => {
  const keys = createKnownKeys()
  const [former, next] = [newHeader(), newHeader()]
  keys.keep('own', former.header, former.key)
  keys.keep('own', next.header, next.key)

  expect(keys.find('own', former.header)).toBeNull()
  expect(keys.find('own', next.header)).toBe(next.key)
})
