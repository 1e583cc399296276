import { expect, it } from 'vitest'
import { requireNode } from '../../../../agent/src/host/config/require-node.ts'

it.each(['22.0.0', '24.7.0', '30.1.0'])('accepts Node %s', (version) => {
  expect(() => requireNode(version)).not.toThrow()
})

it.each(['18.20.0', '20.20.2', '21.9.9', 'x'])('refuses Node %s with a message', (version) => {
  expect(() => requireNode(version)).toThrow(
    `needs Node 22 or newer, not ${version}; run it through npm, which brings one`,
  )
})
