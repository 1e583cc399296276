import type { AccessRequestRecord } from '../../../../server/src/store/access-records.ts'
import type { StoreWriter } from '../../../../server/src/store/store.ts'
import { LATER, NOW, TEAM } from './audited-records.ts'

type Work = (writer: StoreWriter) => Promise<unknown>
type Expected = [kind: string, subject: object, before: unknown, after: unknown]

const REQUEST: AccessRequestRecord = {
  id: 'acr_0000000000000000000000000000',
  org: 'acme',
  username: 'bob',
  device_id: 'd0',
  state: 'pending',
  action: 'connect:tcp',
  resources: ['example.com:443'],
  duration_seconds: 3600,
  once: false,
  reason: 'a release',
  created_at: NOW,
  due_at: LATER,
  decided_at: null,
  decided_by: null,
  answer: null,
  grant: null,
}
const { org: _org, due_at: _due, ...SHOWN } = REQUEST
const grant = { resources: ['example.com:443'], not_before: NOW, expires_at: LATER }
const APPROVED = {
  ...REQUEST,
  state: 'approved',
  decided_at: NOW,
  decided_by: 'user:ann',
  grant,
} as const
const SHOWN_GRANT = { id: REQUEST.id, action: REQUEST.action, ...grant }
const SHOWN_APPROVED = {
  ...SHOWN,
  state: 'approved',
  decided_at: NOW,
  decided_by: 'user:ann',
  grant: SHOWN_GRANT,
}
const DECIDED = { decided_at: NOW, decided_by: 'user:ann', answer: null }
const SUBJECT = { id: REQUEST.id, name: 'bob' }

export function accessWrites(): Record<string, [Work, Expected[]]> {
  return {
    insert: [
      ({ accessRequests }) => accessRequests.insert(REQUEST),
      [['access.requested', SUBJECT, null, SHOWN]],
    ],
    update: [
      async ({ accessRequests }) => {
        await accessRequests.insert(REQUEST)
        await accessRequests.update(APPROVED, 'pending')
        await accessRequests.update({ ...REQUEST, state: 'rejected' }, 'pending')
        await accessRequests.update({ ...APPROVED, state: 'revoked' }, 'approved')
      },
      [
        ['access.requested', SUBJECT, null, SHOWN],
        ['access.approved', SUBJECT, { state: 'pending' }, SHOWN_APPROVED],
        ['access.revoked', SUBJECT, { state: 'approved' }, { ...DECIDED, state: 'revoked' }],
      ],
    ],
    addApprover: [
      ({ accessRequests }) => accessRequests.addApprover('acme', TEAM, 'ann'),
      [['team.approver_added', { id: TEAM, name: 'backend' }, null, { username: 'ann' }]],
    ],
    removeApprover: [
      async ({ accessRequests }) => {
        await accessRequests.removeApprover('acme', TEAM, 'ann')
        await accessRequests.addApprover('acme', TEAM, 'ann')
        await accessRequests.removeApprover('acme', TEAM, 'ann')
      },
      [
        ['team.approver_added', { id: TEAM, name: 'backend' }, null, { username: 'ann' }],
        ['team.approver_removed', { id: TEAM, name: 'backend' }, { username: 'ann' }, null],
      ],
    ],
  }
}
