import { expect, it } from 'vitest'
import { formatBanner } from '../../../packages/launcher/machine/banner.mjs'

const machine = {
  url: 'http://127.0.0.1:8420',
  proxy: 'http://127.0.0.1:8421',
  org: 'acme',
  owner: 'alice',
  dataDir: '/srv/palisade',
  dataPrefix: '',
}

it('shows secrets only when they were made just now', () => {
  const credentials = {
    org: 'acme',
    username: 'alice',
    password: 'pw',
    personal_token: 'pal_pat_x',
  }

  expect(formatBanner({ ...machine, credentials })).toContain('pal_pat_x  (shown this once)')
  expect(formatBanner({ ...machine, credentials: null })).not.toContain('shown this once')
})

it('tells a command about the machine where its data directory is', () => {
  const prefixed = { ...machine, dataPrefix: "PALISADE_DATA_DIR='/srv' ", credentials: null }

  expect(formatBanner(prefixed)).toContain("PALISADE_DATA_DIR='/srv' npm run -s palisade -- sync")
})
