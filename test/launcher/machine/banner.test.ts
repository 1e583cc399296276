import { expect, it } from 'vitest'
import { formatBanner } from '../../../packages/launcher/machine/banner.ts'

const machine = {
  url: 'http://127.0.0.1:8420',
  proxy: 'http://127.0.0.1:8421',
  org: 'acme',
  owner: 'alice',
  dataDir: '/srv/palisade',
  dataPrefix: '',
  inForce: { revision: 1, policies: 0, rules: 0 },
}

it('shows secrets only if they were just created', () => {
  const credentials = {
    org: 'acme',
    username: 'alice',
    password: 'pw',
    personal_token: 'pal_pat_x',
  }

  expect(formatBanner({ ...machine, credentials })).toContain('pal_pat_x  (shown this once)')
  expect(formatBanner({ ...machine, credentials: null })).not.toContain('shown this once')
})

it('prefixes commands with the data directory', () => {
  const prefixed = { ...machine, dataPrefix: "PALISADE_DATA_DIR='/srv' ", credentials: null }

  expect(formatBanner(prefixed)).toContain("PALISADE_DATA_DIR='/srv' npm run -s palisade -- sync")
})

it('shows first steps without a policy, and the policies in force with one', () => {
  const first = formatBanner({ ...machine, credentials: null })
  const inForce = { revision: 9, policies: 1, rules: 2 }
  const later = formatBanner({ ...machine, inForce, credentials: null })

  expect(first).toContain('Nothing is allowed yet')
  expect(later).toContain('In force: revision 9, 1 policy, 2 rules.')
  expect(later).not.toContain('Nothing is allowed yet')
  expect(later).not.toContain('policy create')
})

it('says how to replace a lost password, unless the password has just been shown', () => {
  const credentials = {
    org: 'acme',
    username: 'alice',
    password: 'pw',
    personal_token: 'pal_pat_x',
  }
  const reset = 'npm run -s palisade-server -- user reset-password alice'

  expect(formatBanner({ ...machine, credentials: null })).toContain(reset)
  expect(formatBanner({ ...machine, credentials })).not.toContain('reset-password')
})
