import { isUploaded, limitRecord, type BatchLine, type EvidenceSettings } from '@palisade/protocol'
import { hash } from 'node:crypto'

/**
 * The lines as the settings of the organization let machines send them. Lines that had to stay on
 * the machine become counts of left out decisions, as the machine itself would send them.
 */
export function limitLines(
  lines: readonly BatchLine[],
  { deviceId, settings }: { readonly deviceId: string; readonly settings: EvidenceSettings },
): readonly BatchLine[] {
  const by = { deviceId, hash: sha256 }
  return lines.map((line) => {
    if ('left_out' in line) return line
    const { seq, hash: lineHash } = line
    const leftOut = (left_out: number): BatchLine => ({ seq, hash: lineHash, left_out })
    if ('lost' in line) return settings.upload === 'off' ? leftOut(line.lost) : line
    const record = limitRecord(line.record, settings)
    if (isUploaded(record, settings, by)) return { seq, hash: lineHash, record }
    // Ended connections were counted when they began.
    return leftOut(record.flow === undefined ? record.count : 0)
  })
}

function sha256(text: string): Uint8Array {
  return hash('sha256', text, 'buffer')
}
