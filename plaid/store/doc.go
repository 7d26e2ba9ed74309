// Package store keeps a late-interaction index in a folder: append-only files, committed in
// generations, read through mappings.
//
// A [Writer] appends documents, marks deleted ones and commits; each [Writer.Commit] makes a
// generation. [Open] gives the newest one as a [Snapshot], which never changes: readers are
// not blocked by the writer, and need no lock and no right to write. There is one writer at
// a time. Documents are known by 64-bit ids that ascend, stay and are never given twice;
// their positions change with [Compact].
//
// # Files
//
// Payload files are flat little-endian arrays without headers, so that a mapping of one is
// the array, on a page boundary:
//
//	centroids   f32  K × dim; f16 where that is exact and K < 144·dim (version 2)
//	codes       i32  one a token
//	residuals   u8   dim·bits/8 a token, in the writers' bit order (package codec)
//	invnorms    f32  one a token: 1/‖v‖ of the raw vector, as codec.Decoder.InvNorm
//	offsets     i64  documents+1: document j is tokens offsets[j] to offsets[j+1]
//	ids         i64  one a document, ascending
//	lists       i64  K+1 offsets, zeros to the next multiple of 64 bytes, then the documents
//	            i32  (positions) of each centroid, ascending: one file for a run of documents
//	tombstones  i32  bit j%32 of word j/32 is set where document j is deleted
//
// A name is the kind and a number that no other file of the index ever had. Codes, residuals,
// norms, offsets and ids grow at their ends; the others are written once. The manifest of a
// generation says how much of which file belongs to it, with a CRC-32C of each block and of
// itself: bytes beyond are no part of the index. Its version is that of the layout, not of a
// program. It is written under a temporary name, synced and renamed, after all that it names
// is on disk; what a killed writer leaves behind is removed by the next.
package store
