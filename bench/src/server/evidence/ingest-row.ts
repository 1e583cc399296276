/** Extent of a measurement of the ingest. */
export interface IngestShape {
  readonly devices: number
  /** Different targets of all devices together. */
  readonly tuples: number
}

/** Microseconds of processor time a record. */
export interface IngestRow {
  readonly name: string
  readonly tuples: number
  /** `JSON.parse` of its line: the baseline. */
  readonly parsed_us: number
  /** Unpacking and validating it. */
  readonly read_us: number
  /** The same, and storing it. */
  readonly ingested_us: number
}
