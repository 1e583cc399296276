import {
  DEFAULT_ACCESS_SETTINGS,
  DEFAULT_DISTRIBUTION_SETTINGS,
  DEFAULT_EVIDENCE_SETTINGS,
} from '@palisade/protocol'
import { expect } from 'vitest'
import type { StoreWriter } from '../../../../server/src/store/store.ts'
import { NOW } from './audited-records.ts'

type Work = (writer: StoreWriter) => Promise<unknown>
type ExpectedEvent = [kind: string, subject: object, before: unknown, after: unknown]

export const SETTINGS = {
  name: 'acme',
  entitled: true,
  resolve_unlisted_names: false,
  created_at: NOW,
}
const CHOSEN = { ...DEFAULT_DISTRIBUTION_SETTINGS, offline_allow: ['vpn.example.com:443'] }
const UPLOADED = { ...DEFAULT_EVIDENCE_SETTINGS, upload: 'full' } as const
const LIMITED = { ...DEFAULT_ACCESS_SETTINGS, most_open: 1 }

/** Events of the writes of an organization's settings. */
export function organizationWrites(): Record<string, [Work, ExpectedEvent[]]> {
  return {
    insert: [(writer) => writer.organizations.insert({ ...SETTINGS, name: 'third' }), []],
    updateDistribution: [
      (writer) => writer.organizations.updateDistribution('acme', CHOSEN),
      [
        [
          'organization.updated',
          { id: 'acme', name: 'acme' },
          { distribution: DEFAULT_DISTRIBUTION_SETTINGS },
          { distribution: CHOSEN },
        ],
      ],
    ],
    updateEvidence: [
      (writer) => writer.organizations.updateEvidence('acme', UPLOADED),
      [
        [
          'organization.updated',
          { id: 'acme', name: 'acme' },
          { evidence: DEFAULT_EVIDENCE_SETTINGS },
          { evidence: UPLOADED },
        ],
      ],
    ],
    updateAccess: [
      (writer) => writer.organizations.updateAccess('acme', LIMITED),
      [
        [
          'organization.updated',
          { id: 'acme', name: 'acme' },
          { access: DEFAULT_ACCESS_SETTINGS },
          { access: LIMITED },
        ],
      ],
    ],
    updateSettings: [
      (writer) => writer.organizations.updateSettings('acme', { resolve_unlisted_names: true }),
      [
        [
          'organization.updated',
          { id: 'acme', name: 'acme' },
          SETTINGS,
          { ...SETTINGS, resolve_unlisted_names: true },
        ],
      ],
    ],
    updateDefault: [
      (writer) => writer.organizations.updateDefault('acme', 'observe'),
      [
        [
          'organization.updated',
          { id: 'acme', name: 'acme' },
          SETTINGS,
          { ...SETTINGS, default: 'observe' },
        ],
      ],
    ],
    updateSupportMessage: [
      (writer) => writer.organizations.updateSupportMessage('acme', 'Ask us'),
      [
        [
          'organization.updated',
          { id: 'acme', name: 'acme' },
          SETTINGS,
          { ...SETTINGS, support_message: 'Ask us' },
        ],
      ],
    ],
    raiseRevision: [
      (writer) => writer.organizations.raiseRevision('acme', 1000),
      [
        [
          'organization.restored',
          { id: 'acme', name: 'acme' },
          { revision: expect.any(Number) },
          { revision: 1000 },
        ],
      ],
    ],
    updateEntitled: [
      (writer) => writer.organizations.updateEntitled('acme', false),
      [
        [
          'organization.updated',
          { id: 'acme', name: 'acme' },
          SETTINGS,
          { ...SETTINGS, entitled: false },
        ],
      ],
    ],
  }
}
