import { ENTRIES, ofEachUsed, type AggregateName } from '../../store/aggregates/accessors.ts'
import type { ChangeRecorder } from '../../store/change.ts'
import type { StoreWriter } from '../../store/store.ts'

/** A writer whose every write leaves its change in `recorder`, as the entries of aggregates say. */
export function createAuditedWriter(writer: StoreWriter, recorder: ChangeRecorder): StoreWriter {
  return ofEachUsed<StoreWriter>((name) => audit(name, writer, recorder))
}

function audit<Name extends AggregateName>(
  name: Name,
  writer: StoreWriter,
  recorder: ChangeRecorder,
): StoreWriter[Name] {
  const { events } = ENTRIES[name]
  return events === null
    ? writer[name]
    : { ...writer[name], ...events(writer[name], recorder, writer) }
}
