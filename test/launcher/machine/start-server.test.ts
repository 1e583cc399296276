import { expect, it } from 'vitest'
import { localOrigin } from '../../../packages/launcher/machine/start-server.ts'

it.each([
  ['http://127.0.0.1:8420', 'http://127.0.0.1:8420'],
  ['http://0.0.0.0:8420', 'http://127.0.0.1:8420'],
  ['http://[::]:8420', 'http://[::1]:8420'],
  ['http://192.0.2.7:8420/', 'http://192.0.2.7:8420'],
  ['nonsense', null],
])('dials %s as %s', (listening, expected) => {
  expect(localOrigin(listening)).toBe(expected)
})
