"""Files of documents with mentions of entities: columns of CoNLL-2012, and CoNLL-U with
``Entity=``.
"""
