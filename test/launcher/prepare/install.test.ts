import { expect, it } from 'vitest'
import { explainFailure } from '../../../packages/launcher/prepare/install.mjs'

it.each([
  ['ERR_PNPM_OUTDATED_LOCKFILE  Cannot install', 'does not match the package.json files'],
  ['request to https://r.test failed: getaddrinfo EAI_AGAIN r.test', 'registry cannot be reached'],
  ['npm error code ECONNREFUSED', 'registry cannot be reached'],
  ['ENOSPC: no space left on device', 'the disk is full'],
  ['something else', 'installing packages failed'],
])('explains `%s` in the first line and shows the output', (output, expected) => {
  const message = explainFailure({ code: 1, output, missing: false })

  expect(message.split('\n')[0]).toContain(expected)
  expect(message).toContain(output)
})

it('shows the end of a long output', () => {
  const output = Array.from({ length: 500 }, (_, line) => `line ${line}`).join('\n')

  const message = explainFailure({ code: 1, output, missing: false })

  expect(message).toContain('line 499')
  expect(message).not.toContain('line 400\n')
})
