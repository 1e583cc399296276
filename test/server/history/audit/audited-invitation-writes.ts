import type { StoreWriter } from '../../../../server/src/store/store.ts'
import { NOW } from './audited-records.ts'

type Work = (writer: StoreWriter) => Promise<unknown>
type ExpectedEvent = [kind: string, subject: object, before: unknown, after: unknown]

/** Events of the start and end of an invitation. */
export function invitationWrites(): Record<'insert' | 'delete', [Work, ExpectedEvent[]]> {
  return {
    insert: [
      (writer) =>
        writer.invitations.insert({
          org: 'acme',
          username: 'dan',
          role: 'auditor',
          invited_by: 'user:ann',
          created_at: NOW,
        }),
      [
        [
          'invitation.created',
          { id: 'dan', name: 'dan' },
          null,
          { username: 'dan', role: 'auditor' },
        ],
      ],
    ],
    delete: [
      (writer) => writer.invitations.delete('acme', 'cid'),
      [['invitation.ended', { id: 'cid', name: 'cid' }, { username: 'cid', role: 'member' }, null]],
    ],
  }
}
